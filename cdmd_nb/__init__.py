"""Good synthetic data from anybody's CSV: a cross-dataset mixed-type diffusion model."""
__version__ = "0.1.0"

_HOME = {
    "Column": "schema", "Schema": "schema", "TableError": "schema", "infer_schema": "schema", "read_table": "io", "write_table": "io",
    "TableCodec": "codec", "TextEncoder": "text", "Denoiser": "denoiser", "DenoiserConfig": "denoiser", "TrainConfig": "training",
    "CheckpointError": "checkpoint", "Synthesizer": "synthesizer", "Report": "metrics", "evaluate": "metrics", "load_dataset": "datasets",
    "build_corpus": "datasets", "Corpus": "datasets",
}
__all__ = list(_HOME)


def __getattr__(name: str):
    "Import a module when one of its names is first used: `import cdmd_nb` alone stays light."
    from importlib import import_module
    if name in _HOME: return getattr(import_module(f"cdmd_nb.{_HOME[name]}"), name)
    raise AttributeError(f"module 'cdmd_nb' has no attribute '{name}'")


def __dir__() -> list[str]:
    "The public names."
    return sorted([*globals(), *__all__])

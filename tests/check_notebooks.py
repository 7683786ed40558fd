"""Fail when a notebook is not clean, or when exporting the notebooks would change the package."""
import shutil, subprocess, sys, tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def differing(copy: Path, pattern: str) -> list[str]:
    "Files matching `pattern` that are not the same in the copy and in the repository."
    names = {p.relative_to(base) for base in (ROOT, copy) for p in base.glob(pattern) if "__pycache__" not in p.parts}
    same = lambda n: (ROOT / n).exists() and (copy / n).exists() and (ROOT / n).read_bytes() == (copy / n).read_bytes()
    return sorted(str(n) for n in names if not same(n))


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "copy"
        copy.mkdir()
        for name in ("nbs", "cdmd_nb"): shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
        for name in ("settings.ini", "pyproject.toml"): shutil.copy(ROOT / name, copy / name)
        tool = lambda name: subprocess.run([Path(sys.executable).parent / name], cwd=copy, check=True)
        tool("nbdev_clean")
        dirty = differing(copy, "nbs/**/*.ipynb")
        for module in (copy / "cdmd_nb").glob("*.py"):
            if module.name != "__init__.py": module.unlink()
        tool("nbdev_export")
        changed = differing(copy, "cdmd_nb/*.py")
    for name in dirty: print(f"{name} is not clean: run `nbdev_clean`.")
    for name in changed: print(f"{name} is not what the notebooks export: edit the notebook, then run `nbdev_export`.")
    return bool(dirty or changed)


if __name__ == "__main__": sys.exit(main())

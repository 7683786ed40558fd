"""The app: `python app.py` here, or as a Hugging Face Space."""
import os

if os.environ.get("SPACES_ZERO_GPU"): import spaces  # noqa: F401  before torch, or ZeroGPU finds no GPU

from cdmd_nb.ui import build_app, launch

demo = build_app()

if __name__ == "__main__": launch(demo)

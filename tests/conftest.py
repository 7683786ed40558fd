"""Shared fixtures: hypothesis profiles and the evaluation datasets, where they are at hand."""
import json, os
from pathlib import Path

import pandas as pd, pytest
from hypothesis import HealthCheck, settings

_common = dict(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much])
settings.register_profile("quick", max_examples=60, derandomize=True, **_common)
settings.register_profile("long", max_examples=2500, **_common)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))

SEVEN = ["adult", "default", "magic", "shoppers", "diabetes", "beijing", "news"]


@pytest.fixture(params=SEVEN)
def eval_dataset(request) -> tuple[pd.DataFrame, dict]:
    "One of the paper's seven datasets, as it is read from its file, and its metadata."
    folder = os.environ.get("CDMD_DATA")
    if not folder: pytest.skip("set CDMD_DATA to the folder of the seven evaluation datasets")
    from cdmd_nb.io import read_table
    meta = json.loads((Path(folder) / f"{request.param}.json").read_text())
    return read_table(Path(folder) / f"{request.param}.csv.gz"), meta

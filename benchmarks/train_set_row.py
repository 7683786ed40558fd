"""Score the training half of each of the seven tables as if it were synthetic, the way the paper's *Train Set* row was made.

python benchmarks/train_set_row.py --data FOLDER [--out benchmarks/train_set_row.csv] [--seeds 0 1 2] [--datasets magic adult]

FOLDER holds `<name>.csv.gz` and `<name>.json` for each table. Every finished (dataset, split) is appended to the CSV at once;
starting again continues where it stopped.
"""
import argparse, json, os, time
from pathlib import Path

import numpy as np, pandas as pd

from cdmd_nb.metrics import METRICS, axes, evaluate
from cdmd_nb.schema import infer_schema

NAMES = ["magic", "shoppers", "beijing", "default", "adult", "news", "diabetes"]


def load(folder: Path, name: str) -> tuple[pd.DataFrame, dict]:
    "A table with its categorical columns as text, and what is known about it."
    meta = json.loads((folder / f"{name}.json").read_text())
    text = {c: str for c in meta["categorical"]}
    return pd.read_csv(folder / f"{name}.csv.gz", dtype=text, keep_default_na=False, na_values=[""]), meta


def halves(df: pd.DataFrame, seed: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    "Two random halves, the first never the larger."
    order = np.random.default_rng(seed).permutation(len(df))
    return df.iloc[order[:len(df) // 2]], df.iloc[order[len(df) // 2:]]


def score(folder: Path, name: str, seed: int, threads: int) -> dict:
    "All seven metrics for the training half of one split."
    df, meta = load(folder, name)
    types = {c: "categorical" for c in meta["categorical"]} | {c: "numerical" for c in meta["numerical"]}
    schema = infer_schema(df, meta["title"], target=meta["target"], types=types)
    train, test = halves(df, seed)
    start = time.perf_counter()
    log = meta["task"] == "regression"
    report = evaluate(train, test, train, schema, references=False, log_target=log, details=False, seed=seed, threads=threads)
    return {"dataset": name, "split": seed, **{m: round(report[m], 4) for m in METRICS}, **{k: round(v, 4) for k, v in axes(report.scores).items()},
            "trend_all": round(report.details["trend_all"], 4), "seconds": round(time.perf_counter() - start, 1)}


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--data", type=Path, default=os.environ.get("CDMD_DATA"), help="folder of the seven tables; by default $CDMD_DATA")
    p.add_argument("--out", type=Path, default=Path(__file__).with_suffix(".csv"))
    p.add_argument("--seeds", type=int, nargs="*", default=[0, 1, 2], help="one random split per seed")
    p.add_argument("--datasets", nargs="*", default=NAMES)
    p.add_argument("--threads", type=int, default=1)
    a = p.parse_args()
    if a.data is None: p.error("say where the tables are: --data or CDMD_DATA")
    done = {(r.dataset, r.split) for r in pd.read_csv(a.out).itertuples()} if a.out.exists() else set()
    for seed in a.seeds:
        for name in a.datasets:
            if (name, seed) in done: continue
            row = score(Path(a.data), name, seed, a.threads)
            pd.DataFrame([row]).to_csv(a.out, mode="a", header=not a.out.exists(), index=False)
            print(row, flush=True)


if __name__ == "__main__": main()

"""Score the training half of each of the seven tables as if it were synthetic, the way the paper's *Train Set* row was made.

python benchmarks/train_set_row.py --data FOLDER [--out benchmarks/train_set_row.csv] [--seeds 0 1 2] [--datasets magic adult]

FOLDER holds `<name>.csv.gz` for each table. Every finished (dataset, split) is appended to the CSV at once;
starting again continues where it stopped.
"""
import argparse, os, time
from pathlib import Path

import pandas as pd

from cdmd_nb.datasets import load_dataset
from cdmd_nb.metrics import METRICS, axes, evaluate

NAMES = ["magic", "shoppers", "beijing", "default", "adult", "news", "diabetes"]


def score(folder: Path, name: str, seed: int, threads: int) -> dict:
    "All seven metrics for the training half of one split."
    data = load_dataset(name, folder)
    train, test = data.halves(seed)
    start = time.perf_counter()
    log = data.task == "regression"
    report = evaluate(train, test, train, data.schema, references=False, log_target=log, details=False, seed=seed, threads=threads)
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

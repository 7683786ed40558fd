"""Score the training half of each of the seven tables as if it were synthetic, the way the paper's *Train Set* row was made.

python benchmarks/train_set_row.py --data FOLDER [--out benchmarks/train_set_row.csv] [--seeds 0 1 2] [--datasets magic adult]
python benchmarks/train_set_row.py --data FOLDER --fresh --seeds 0 [--rows 5000] --out benchmarks/fresh_rows.csv

With --fresh a table is cut into three equal parts: rows to learn, rows to compare with, and rows that play the synthetic ones although they are
real and new: what a perfect generator would make.

FOLDER holds `<name>.csv.gz` for each table. Every finished (dataset, split) is appended to the CSV at once;
starting again continues where it stopped.
"""
import argparse, os, time
from pathlib import Path

import pandas as pd

from cdmd_nb.datasets import Dataset, load_dataset
from cdmd_nb.metrics import METRICS, axes, evaluate

NAMES = ["magic", "shoppers", "beijing", "default", "adult", "news", "diabetes"]


def parts(data: Dataset, seed: int, fresh: bool) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    "Rows to learn, rows to compare with, and real rows that play the synthetic ones."
    train, test = data.halves(seed)
    if not fresh: return train, test, train
    whole = pd.concat([train, test]).sample(frac=1, random_state=seed, ignore_index=True)
    third = len(whole) // 3
    return tuple(whole[k * third:(k + 1) * third].reset_index(drop=True) for k in range(3))


def score(folder: Path, name: str, seed: int, threads: int, fresh: bool, rows: int | None) -> dict:
    "All seven metrics for real rows of one split."
    data = load_dataset(name, folder)
    train, test, real = parts(data, seed, fresh)
    real = real.head(rows or len(real))
    start = time.perf_counter()
    log = data.task == "regression"
    report = evaluate(train, test, real, data.schema, references=False, log_target=log, details=False, seed=seed, threads=threads)
    asked = {"asked": rows or "all", "scored": len(real)} if fresh else {}
    return {"dataset": name, "split": seed, **asked, **{m: round(report[m], 4) for m in METRICS}, **{k: round(v, 4) for k, v in axes(report.scores).items()},
            "trend_all": round(report.details["trend_all"], 4), "seconds": round(time.perf_counter() - start, 1)}


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--data", type=Path, default=os.environ.get("CDMD_DATA"), help="folder of the seven tables; by default $CDMD_DATA")
    p.add_argument("--out", type=Path, default=Path(__file__).with_suffix(".csv"))
    p.add_argument("--seeds", type=int, nargs="*", default=[0, 1, 2], help="one random split per seed")
    p.add_argument("--datasets", nargs="*", default=NAMES)
    p.add_argument("--threads", type=int, default=1)
    p.add_argument("--fresh", action="store_true", help="score real rows that are neither learned nor compared with")
    p.add_argument("--rows", type=int, help="with --fresh: most of them; by default all")
    a = p.parse_args()
    if a.data is None: p.error("say where the tables are: --data or CDMD_DATA")
    if a.rows and not a.fresh: p.error("--rows goes with --fresh")
    known = pd.read_csv(a.out, dtype=str) if a.out.exists() else pd.DataFrame()
    done = set(known.reindex(columns=["dataset", "split", "asked"], fill_value="").itertuples(index=False, name=None))
    for seed in a.seeds:
        for name in a.datasets:
            if (name, str(seed), str(a.rows or "all") * a.fresh) in done: continue
            row = score(Path(a.data), name, seed, a.threads, a.fresh, a.rows)
            pd.DataFrame([row]).to_csv(a.out, mode="a", header=not a.out.exists(), index=False)
            print(row, flush=True)


if __name__ == "__main__": main()

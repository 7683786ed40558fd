"""Quality per minute of fitting: one of the seven tables, its training half in, scored on the other half with all seven metrics.

    CDMD_DATA=… python benchmarks/quality_per_minute.py adult magic --minutes 10 [--split 1] [--checkpoint FOLDER] [--keep FOLDER]

Without --checkpoint the small network starts from scratch. --steps repeats a run of so many steps on a busy machine.
Lines are appended to benchmarks/quality_per_minute.csv.
"""
import argparse, logging, time
from pathlib import Path

import pandas as pd, torch

from cdmd_nb import Synthesizer, evaluate, load_dataset


def fit(dataset: str, split: int, budget: dict, checkpoint: str | None, keep: Path | None, rows: int | None) -> dict:
    "Fit, sample and score one table."
    data = load_dataset(dataset)
    train, test = data.halves(split)
    syn = Synthesizer.from_pretrained(checkpoint) if checkpoint else Synthesizer()
    syn.fit(train, name=data.schema.name, description=data.schema.description, **budget)
    if keep: syn.save(keep / f"{dataset}-{split}")
    n, start = rows or len(train), time.perf_counter()
    synthetic = syn.sample(n)
    seconds = time.perf_counter() - start
    report = evaluate(train, test, synthetic, syn.schema, data.schema.target, references=False, details=False, log_target=data.task == "regression")
    run = {"dataset": dataset, "split": split, "start": checkpoint or "scratch", "minutes": budget.get("minutes"), "threads": torch.get_num_threads()}
    run |= {"steps": syn.result.steps, "rows_seen": syn.result.rows, "heldout": round(syn.result.heldout, 4)}
    run |= {"sampled": n, "sample_rows_s": round(n / seconds, 1)}
    return run | {k: round(v, 2) for k, v in (report.scores | report.summary).items() if v is not None}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("datasets", nargs="+")
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--steps", type=int, help="instead of minutes")
    parser.add_argument("--split", type=int, default=0, help="seed of the split into halves")
    parser.add_argument("--checkpoint")
    parser.add_argument("--keep", type=Path, help="save the fitted models here")
    parser.add_argument("--rows", type=int, help="synthetic rows to score; as many as training rows by default")
    parser.add_argument("--out", type=Path, default=Path(__file__).with_suffix(".csv"))
    args = parser.parse_args()
    logging.disable(logging.CRITICAL)
    for dataset in args.datasets:
        line = fit(dataset, args.split, {"steps": args.steps} if args.steps else {"minutes": args.minutes}, args.checkpoint, args.keep, args.rows)
        print(line, flush=True)
        pd.DataFrame([line]).to_csv(args.out, mode="a", header=not args.out.exists(), index=False)


if __name__ == "__main__": main()

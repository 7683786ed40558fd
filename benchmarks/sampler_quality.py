"""Quality against network calls: the paper's sampler and the fast one, on one and the same fitted model.

    CDMD_DATA=… python benchmarks/sampler_quality.py MODEL_FOLDER --dataset adult [--rows 4000] [--seeds 0 1 2] [--out benchmarks/sampler_quality.csv]

MODEL_FOLDER is a model fitted on the first half of a seeded shuffle of the dataset (`cdmd fit`); scores are taken against the other half.
"""
import argparse, logging, time
from itertools import product

import pandas as pd, torch

from cdmd_nb import Synthesizer, evaluate, load_dataset


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--dataset", default="adult")
    parser.add_argument("--rows", type=int, default=4000)
    parser.add_argument("--runs", nargs="+", default=["fast:28", "fast:20", "paper:50", "paper:120"])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0], help="of the draws")
    parser.add_argument("--out", default=None)
    args = parser.parse_args()
    logging.disable(logging.CRITICAL)
    data = load_dataset(args.dataset)
    train, test = data.halves()
    syn, lines = Synthesizer.from_pretrained(args.model), []
    for run, seed in product(args.runs, args.seeds):
        method, steps = run.split(":")
        start = time.process_time()
        rows = syn.sample(args.rows, seed, method=method, steps=int(steps))
        seconds = time.process_time() - start
        report = evaluate(train, test, rows, syn.schema, data.schema.target, references=False, details=False, threads=torch.get_num_threads())
        scores = {k: round(v, 2) for k, v in (report.scores | report.summary).items() if v is not None}
        lines.append({"sampler": method, "steps": int(steps), "seed": seed, "rows_per_cpu_s": round(args.rows / seconds, 1)} | scores)
        print(lines[-1], flush=True)
        if args.out: pd.DataFrame(lines).to_csv(args.out, index=False)


if __name__ == "__main__": main()

"""Which small network? Held-out loss of several shapes after the same CPU time on one of the seven tables, one thread.

    CDMD_DATA=… OMP_NUM_THREADS=1 python benchmarks/sizes.py adult --minutes 2.5

The time of a step is measured first, in CPU seconds, and turned into a number of steps, so that other work on the machine does not matter much.
"""
import argparse, time
from pathlib import Path

import pandas as pd, torch

from cdmd_nb import load_dataset
from cdmd_nb.codec import TableCodec
from cdmd_nb.denoiser import Denoiser, DenoiserConfig
from cdmd_nb.schema import infer_schema
from cdmd_nb.text import TextEncoder, embed_schema
from cdmd_nb.training import TrainConfig, TrainTable, heldout_loss, train

SHAPES = [(64, 3, 2, 128), (96, 4, 4, 192), (128, 4, 4, 256), (160, 3, 4, 320)]


def step_seconds(shape: tuple, table: TrainTable, batch_size: int, steps: int = 25) -> float:
    "CPU time of a training step."
    config = TrainConfig(steps=steps, batch_size=batch_size, holdout=0)
    train(Denoiser(DenoiserConfig(*shape)), [table], config, show=False)
    start = time.process_time()
    train(Denoiser(DenoiserConfig(*shape)), [table], config, show=False)
    return (time.process_time() - start) / steps


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dataset")
    parser.add_argument("--minutes", type=float, default=2.5, help="CPU minutes for each shape")
    parser.add_argument("--batch-size", type=int, default=256)
    parser.add_argument("--out", type=Path, default=Path(__file__).with_suffix(".csv"))
    args = parser.parse_args()
    torch.set_num_threads(1)
    data = load_dataset(args.dataset)
    rows, test = data.halves()
    codec = TableCodec.fit(rows, infer_schema(rows, data.schema.name, data.schema.description))
    embedding = embed_schema(codec.variables, TextEncoder())
    table, held = (TrainTable.of(args.dataset, codec.encode(part), embedding) for part in (rows, test.head(8192)))
    for shape in SHAPES:
        steps = round(60 * args.minutes / step_seconds(shape, table, args.batch_size))
        torch.manual_seed(0)
        net = Denoiser(DenoiserConfig(*shape))
        train(net, [table], TrainConfig(steps=steps, batch_size=args.batch_size, holdout=0), show=False)
        num, cat = heldout_loss(net, [held])
        line = {"dataset": args.dataset, "cpu_minutes": args.minutes, "dim": shape[0], "layers": shape[1], "heads": shape[2], "feedforward": shape[3],
                "parameters": net.n_parameters, "steps": steps, "num": round(num, 4), "cat": round(cat, 4), "heldout": round(num + cat, 4)}
        print(line, flush=True)
        pd.DataFrame([line]).to_csv(args.out, mode="a", header=not args.out.exists(), index=False)


if __name__ == "__main__": main()

"""Training and sampling speed and memory: the small and the paper size on the seven schemas, and growth with rows, columns and categories.

    python benchmarks/speed.py [--threads 2] [--seconds 8] [--out benchmarks/speed.csv]

Rows, columns and vocabularies have the shapes of the seven tables; the values are random, which the speed does not depend on.
Every line runs in a process of its own, so that peak memory is its own. `matmul_share` is the part of a training step that
PyTorch's profiler finds in matrix products and attention.
"""
import argparse, json, re, subprocess, sys, time
from pathlib import Path

import pandas as pd, torch

from cdmd_nb.denoiser import Denoiser, DenoiserConfig, SchemaTensors
from cdmd_nb.sampler import sample_rows
from cdmd_nb.training import TrainConfig, TrainTable, train

SEVEN = {"adult": (6, [9, 16, 7, 15, 6, 5, 2, 42, 2]), "default": (14, [2, 7, 4, 11, 11, 11, 11, 10, 10, 2]), "magic": (10, [2]),
         "shoppers": (10, [10, 8, 13, 9, 20, 3, 2, 2]), "beijing": (7, [4]), "news": (45, [7, 7]),
         "diabetes": (8, [6, 3, 10, 10, 8, 26, 17, 18, 73, 4, 4, 4, 4, 4, 4, 4, 4, 4, 2, 4, 4, 4, 4, 3, 4, 4, 2, 2, 3])}
GROWTH = {"10 columns": (5, [10] * 5), "20 columns": (10, [10] * 10), "40 columns": (20, [10] * 20),
          "100 categories": (5, [20] * 5), "1,000 categories": (5, [200] * 5), "10,000 categories": (5, [2000] * 5)}


def make(n_num: int, sizes: list[int], rows: int, text_dim: int) -> TrainTable:
    g = torch.Generator().manual_seed(0)
    schema = SchemaTensors(torch.randn(text_dim, generator=g), torch.randn(n_num + len(sizes), text_dim, generator=g),
                           torch.randn(sum(sizes), text_dim, generator=g), tuple(sizes))
    cat = torch.stack([torch.randint(0, k, (rows,), generator=g) for k in sizes], 1)
    return TrainTable("bench", torch.randn(rows, n_num, generator=g), cat, schema)


def matmul_share(net: Denoiser, table: TrainTable) -> float:
    "Share of a training step in matrix products and attention."
    from torch.profiler import ProfilerActivity, profile
    config = TrainConfig(steps=3, batch_size=256, holdout=0)
    with profile(activities=[ProfilerActivity.CPU]) as p: train(net, [table], config, show=False)
    events = p.key_averages()
    total = sum(e.self_cpu_time_total for e in events)
    wanted = ("aten::mm", "aten::addmm", "aten::bmm", "aten::baddbmm", "scaled_dot_product")
    return sum(e.self_cpu_time_total for e in events if any(w in e.key for w in wanted)) / total


def measure(size: str, shape: tuple, rows: int, seconds: float) -> dict:
    "One line of the table; in a fresh process."
    config = DenoiserConfig.named(size)
    net, table = Denoiser(config), make(*shape, rows, config.text_dim)
    train(net, [table], TrainConfig(steps=2, batch_size=256, holdout=0), show=False)
    result = train(net, [table], TrainConfig(minutes=seconds / 60, batch_size=256, holdout=0), show=False)
    n, start = 256 if size == "paper" else 1024, time.perf_counter()
    sample_rows(net, table.schema, n)
    sampled = time.perf_counter() - start
    return {"train_rows_s": result.rows / result.seconds, "sample_rows_s": n / sampled, "matmul_share": matmul_share(net, table),
            "peak_GiB": int(re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())[1]) / 2**20}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=8.0)
    parser.add_argument("--sizes", nargs="+", default=["small", "paper"])
    parser.add_argument("--out", default=None)
    parser.add_argument("--case", default=None, help=argparse.SUPPRESS)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    if args.case: return print(json.dumps(measure(*json.loads(args.case), args.seconds)))
    cases = [(size, name, shape, 20_000) for size in args.sizes for name, shape in SEVEN.items()]
    cases += [("small", name, shape, 20_000) for name, shape in GROWTH.items()]
    cases += [("small", f"{rows:,} rows", GROWTH["10 columns"], rows) for rows in (10_000, 100_000, 1_000_000)]
    lines = []
    for size, name, shape, rows in cases:
        command = [sys.executable, __file__, "--threads", str(args.threads), "--seconds", str(args.seconds), "--case", json.dumps([size, shape, rows])]
        run = subprocess.run(command, check=True, capture_output=True, text=True)
        lines.append({"size": size, "table": name, **json.loads(run.stdout.splitlines()[-1])})
        print({k: round(v, 3) if isinstance(v, float) else v for k, v in lines[-1].items()}, flush=True)
    if args.out: pd.DataFrame(lines).round(3).to_csv(args.out, index=False)


if __name__ == "__main__": main()

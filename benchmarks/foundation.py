"""Scale of the foundation: read, infer, fit, encode and decode a table of mixed columns.

    python benchmarks/foundation.py [--rows 1000000] [--out benchmarks/foundation.csv]

Each size runs in a process of its own, so that peak memory is its own; half the rows come first, so that growth shows.
"""
import argparse, json, resource, subprocess, sys, tempfile, time
from pathlib import Path

import numpy as np, pandas as pd


def make_table(n: int, seed: int = 0) -> pd.DataFrame:
    "30 columns: counts, measurements, money, dates, labels few and many, holes, a key."
    g = np.random.default_rng(seed)
    table = {"key": np.arange(n)}
    for i in range(7): table[f"measure_{i}"] = g.lognormal(i, 1, n).round(4)
    for i in range(4): table[f"visits_{i}"] = g.poisson(3 * i + 1, n)
    for i in range(3): table[f"score_{i}"] = np.where(g.random(n) < 0.1, np.nan, g.normal(size=n))
    for i in range(2): table[f"price_{i}"] = np.char.add("$", g.integers(100, 99_999, n).astype(str))
    for i in range(2): table[f"day_{i}"] = (np.datetime64("2015-01-01") + g.integers(0, 3000, n)).astype(str)
    for i in range(6): table[f"label_{i}"] = g.choice([f"value {k}" for k in range(3 * 2 ** i)], n)
    for i in range(2): table[f"city_{i}"] = g.choice([f"city {k}" for k in range(2000)], n)
    for i in range(3): table[f"flag_{i}"] = g.choice(["yes", "no"], n)
    return pd.DataFrame(table)


def measure(path: str) -> dict:
    "Time each step on one file; in a fresh process."
    from cdmd_nb.codec import TableCodec
    from cdmd_nb.io import read_table
    from cdmd_nb.schema import infer_schema
    seconds, start = {}, time.perf_counter()

    def lap(name):
        nonlocal start
        seconds[name] = time.perf_counter() - start
        start = time.perf_counter()

    df = read_table(path); lap("read")
    schema = infer_schema(df, "benchmark"); lap("infer")
    codec = TableCodec.fit(df, schema); lap("fit")
    encoded = codec.encode(df); lap("encode")
    back = codec.decode(encoded.num, encoded.cat); lap("decode")
    pd.testing.assert_frame_equal(back.drop(columns="key"), df.drop(columns="key"), rtol=1e-9)
    return {"rows": len(df), "columns": df.shape[1], **seconds, "peak_GiB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--out", default=None)
    parser.add_argument("--measure", default=None, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.measure: return print(json.dumps(measure(args.measure)))
    results = []
    with tempfile.TemporaryDirectory() as folder:
        for rows in (args.rows // 2, args.rows):
            path = Path(folder) / "table.csv"
            make_table(rows).to_csv(path, index=False)
            run = subprocess.run([sys.executable, __file__, "--measure", str(path)], check=True, stdout=subprocess.PIPE, text=True)
            results.append(json.loads(run.stdout.splitlines()[-1]))
    steps = ["read", "infer", "fit", "encode", "decode"]
    table = pd.DataFrame(results)
    table["total"] = table[steps].sum(axis=1)
    print(table.round(2).to_string(index=False))
    print("rows/s:", {s: int(args.rows / results[1][s]) for s in steps})
    print("time when the rows double:", {s: round(results[1][s] / results[0][s], 2) for s in steps}, "all:", round(table.total[1] / table.total[0], 2))
    if args.out: table.round(3).to_csv(args.out, index=False)


if __name__ == "__main__": main()

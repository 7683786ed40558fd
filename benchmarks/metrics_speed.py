"""How long an evaluation takes, and DCR and Authenticity against scikit-learn's brute force in the same run, with the same result.

python benchmarks/metrics_speed.py --data FOLDER [--datasets adult] [--brute-rows 0] [--threads 2] [--out benchmarks/metrics_speed.csv]

The synthetic rows are real rows of both halves in which a few cells are taken from other rows. `--brute-rows` limits brute force to
that many queries and extrapolates its time (Diabetes would take about half an hour); 0 means all of them.
Times are processor seconds of all threads together; set OMP_NUM_THREADS=1 to compare one core with one core.
"""
import argparse, os, resource, time
from pathlib import Path

import numpy as np, pandas as pd
from sklearn.neighbors import NearestNeighbors

from cdmd_nb.datasets import load_dataset
from cdmd_nb.metrics import METRICS, Rows, _one_hot, _points, _together, authenticity, dcr, encode_tables, evaluate, scale_of


def made_up(df: pd.DataFrame, n: int, seed: int) -> pd.DataFrame:
    "Rows of `df` in which every fifth cell comes from another row."
    rng = np.random.default_rng(seed)
    base = rng.integers(0, len(df), n)
    return pd.DataFrame({c: df[c].to_numpy()[np.where(rng.random(n) < 0.2, rng.integers(0, len(df), n), base)] for c in df})


def timed(f, *args, **kwargs):
    "Processor seconds, which other work on the machine does not change, and the result."
    start = time.process_time()
    out = f(*args, **kwargs)
    return time.process_time() - start, out


def laid_out(rows: Rows, like: Rows, scale: tuple, p: int) -> np.ndarray:
    "Scaled numbers and one-hot labels, as the straightforward way needs them."
    flags = rows.missing.any(0) | like.missing.any(0)
    (x, c), (_, d) = _points(rows, flags), _points(like, flags)
    sizes = np.maximum(c.max(0), d.max(0)) + 1 if c.shape[1] else np.zeros(0, int)
    return np.hstack([(x - scale[0]) / scale[1], _one_hot(c, sizes) / (2 if p == 1 else 1)])


def brute(rows: Rows, among: Rows, scale: tuple, p: int, own: bool = False) -> tuple[np.ndarray, np.ndarray]:
    "Distance and index of the nearest row, by scikit-learn's brute force."
    search = NearestNeighbors(n_neighbors=1 + own, algorithm="brute", metric="manhattan" if p == 1 else "euclidean")
    search.fit(laid_out(among, rows, scale, p))
    d, i = search.kneighbors(laid_out(rows, among, scale, p))
    return d[:, -1], i[:, -1]


def brute_dcr(train: Rows, test: Rows, synthetic: Rows) -> float:
    "Share of synthetic rows strictly closer to train than to test."
    scale = scale_of(_together(train, test))
    near = [brute(synthetic, part, scale, 1)[0] for part in (train, test)]
    return float((near[0] < near[1] * (1 - 1e-9)).mean())


def brute_authenticity(train: Rows, synthetic: Rows, own_rows: np.ndarray | None) -> float:
    "Authenticity by the definition; `own_rows` limits the training rows whose own neighbour is looked up, for timing only."
    scale = scale_of(train)
    d, i = brute(synthetic, train, scale, 2)
    own = brute(train if own_rows is None else train.take(own_rows), train, scale, 2, own=True)[0]
    return float("nan") if own_rows is not None else 100 * float((d > own[i] * (1 + 1e-9)).mean())


def compare(tables, brute_rows: int) -> dict:
    "DCR and Authenticity, ours and by brute force."
    train, test, synthetic = tables.train, tables.test, tables.synthetic
    n = min(len(train), len(test))
    train, test = train.take(np.arange(n)), test.take(np.arange(n))
    few = np.random.default_rng(0).permutation(len(synthetic))[:brute_rows or None]
    times = len(synthetic) / len(few)
    ours_dcr, found = timed(dcr, train, test, synthetic)
    ours_auth, score = timed(authenticity, train, synthetic)
    brute_d, closer = timed(brute_dcr, train, test, synthetic.take(few))
    brute_a, other = timed(brute_authenticity, train, synthetic.take(few), few[few < n] if brute_rows else None)
    mine = float((found.train[few] < found.holdout[few] * (1 - 1e-9)).mean())
    assert abs(mine - closer) < 1e-3, (mine, closer)
    if not brute_rows: assert abs(score - other) < 0.1, (score, other)
    return {"dcr": ours_dcr, "dcr_brute": brute_d * times, "dcr_times": brute_d * times / ours_dcr, "dcr_closer": mine, "dcr_closer_brute": closer,
            "authenticity": ours_auth, "authenticity_brute": brute_a * times, "authenticity_times": brute_a * times / ours_auth,
            "authenticity_score": score, "authenticity_score_brute": other, "brute_rows": len(few)}


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--data", type=Path, default=os.environ.get("CDMD_DATA"), help="folder of the seven tables; by default $CDMD_DATA")
    p.add_argument("--datasets", nargs="*", default=["adult"])
    p.add_argument("--brute-rows", type=int, default=0)
    p.add_argument("--threads", type=int, default=None)
    p.add_argument("--no-brute", action="store_true", help="only time the evaluation")
    p.add_argument("--no-evaluate", action="store_true", help="only compare with brute force")
    p.add_argument("--out", type=Path, default=Path(__file__).with_suffix(".csv"))
    a = p.parse_args()
    if a.data is None: p.error("say where the tables are: --data or CDMD_DATA")
    for name in a.datasets:
        data = load_dataset(name, a.data)
        df, schema = data.df, data.schema
        train, test = data.halves(0)
        synthetic = made_up(df, len(train), 0)
        row = {"dataset": name, "rows": len(train), "columns": len(schema), "threads": a.threads or os.cpu_count(), "load": os.getloadavg()[0]}
        if not a.no_brute: row |= compare(encode_tables(train, test, synthetic, schema), a.brute_rows)
        if not a.no_evaluate:
            start = time.perf_counter()
            row["evaluate_cpu"], report = timed(evaluate, train, test, synthetic, schema, threads=a.threads, log_target=data.task == "regression")
            row["evaluate_wall"] = time.perf_counter() - start
            row |= {f"seconds {m}": report.details["seconds"].get(m) for m in METRICS}
        row["peak_MiB"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        row = {k: round(v, 4) if isinstance(v, float) else v for k, v in row.items()}
        old = pd.read_csv(a.out) if a.out.exists() else pd.DataFrame()
        pd.concat([old, pd.DataFrame([row])]).to_csv(a.out, index=False)
        for k, v in row.items(): print(f"{k:28}{v}", flush=True)


if __name__ == "__main__": main()

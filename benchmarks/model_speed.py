"""The fast network against its literal formulation, and memory under load.

    python benchmarks/model_speed.py [--batch 1024] [--threads 2] [--out benchmarks/model_speed.csv]

The literal network is the one in the notebook 05_denoiser: `nn.TransformerDecoder` over all categories of all cells, nothing cached.
Both run in the same process, in turns, on the column counts and vocabulary sizes of the Adult and Diabetes tables. `sample_ratio` is Algorithm 2 with both
networks; `shipped_ratio` is one sampling run: the default sampler against 50 steps of Algorithm 2 with the literal network.
"""
import argparse, json, re, subprocess, sys, time
from pathlib import Path

import pandas as pd, torch
from torch import nn

from cdmd_nb.denoiser import Denoiser, DenoiserConfig, SchemaTensors, time_features
from cdmd_nb.diffusion import MASK, Schedule, add_noise, mixed_loss, preconditioning, sample_times, step_transition
from cdmd_nb.sampler import sample_rows
from cdmd_nb.training import TrainConfig, TrainTable, _accelerator, _Trainer

ABOUT_1M = DenoiserConfig.named("medium")
ADULT = (6, [9, 16, 7, 15, 6, 5, 2, 42, 2])
DIABETES = (8, [6, 3, 10, 10, 8, 26, 17, 18, 73, 4, 4, 4, 4, 4, 4, 4, 4, 4, 2, 4, 4, 4, 4, 3, 4, 4, 2, 2, 3])


def literal_class():
    "The literal network, from the notebook that tests against it."
    nb = json.loads((Path(__file__).resolve().parent.parent / "nbs" / "05_denoiser.ipynb").read_text())
    source = next("".join(c["source"]) for c in nb["cells"] if "".join(c["source"]).startswith("class LiteralDenoiser"))
    scope = dict(nn=nn, torch=torch, MASK=MASK, preconditioning=preconditioning, time_features=time_features)
    exec(source, scope)
    return scope["LiteralDenoiser"]


def case(n_num, sizes, batch):
    torch.manual_seed(0)
    schema = SchemaTensors(torch.randn(384), torch.randn(n_num + len(sizes), 384), torch.randn(sum(sizes), 384), tuple(sizes))
    x_num = torch.randn(batch, n_num)
    x_cat = torch.stack([torch.randint(0, k, (batch,)) for k in sizes], 1)
    return schema, x_num, x_cat


def trainer(net, schema, x_num, x_cat):
    "A training run of the shipped code, with the literal network's optimiser."
    table = TrainTable("random", x_num, x_cat, schema)
    return _Trainer(net, [table], TrainConfig(steps=100, batch_size=len(table), holdout=0, optimizer="adamw", lr=1e-4), _accelerator())


def literal_step(literal, optimizer, schema, x_num, x_cat):
    "One step of training with the literal network."
    schedule, t = Schedule(), sample_times(len(x_num))
    noisy_num, noisy_cat = add_noise(x_num, x_cat, t, schedule)
    masked = noisy_cat == MASK
    pred, logits = literal(noisy_num, noisy_cat, t, schema)
    nll = torch.stack([nn.functional.cross_entropy(z, x_cat[:, j], reduction="none") for j, z in enumerate(logits)], 1)[masked]
    sum(mixed_loss(pred, x_num, nll, masked, t, schedule)).backward()
    optimizer.step()
    optimizer.zero_grad()


@torch.no_grad()
def literal_sample(literal, schema, n, steps):
    "Algorithm 2 with the literal network."
    schedule, fill = Schedule(), lambda v: torch.full((n,), float(v))
    x, c = torch.randn(n, schema.n_num) * 80, torch.full((n, schema.n_cat), MASK)
    for i in range(steps, 0, -1):
        t, s = torch.tensor(i / steps), torch.tensor((i - 1) / steps)
        if i < steps:
            later = schedule.time(schedule.sigma(t) * (1 + 1 / steps)).clamp(max=1)
            x, c = step_transition(x, c, fill(t), fill(later), schedule, torch.randn(x.shape), torch.rand(c.shape))
            t = later
        pred, logits = literal(x, c, fill(t), schema)
        x = x + (s - t) * schedule.sigma_prime(t) / schedule.sigma(t) * (x - pred)
        drawn = torch.stack([torch.multinomial(z.softmax(-1), 1)[:, 0] for z in logits], 1)
        c = torch.where((c == MASK) & (torch.rand(c.shape) < (t - s) / t), drawn, c)
    return x, c


def seconds(f, repeat):
    "Best of several times."
    best = float("inf")
    for _ in range(repeat):
        start = time.perf_counter()
        f()
        best = min(best, time.perf_counter() - start)
    return best


def compare(name: str, n_num: int, sizes: list[int], batch: int, steps: int) -> dict:
    "Training steps and sampling runs of one schema, fast and literal in turns."
    net = Denoiser(ABOUT_1M)
    literal = literal_class()(net)
    schema, x_num, x_cat = case(n_num, sizes, batch)
    optimizer = torch.optim.AdamW(literal.parameters(), lr=1e-4)
    fast_train = seconds(trainer(net, schema, x_num, x_cat).step, 4)
    slow_train = seconds(lambda: literal_step(literal, optimizer, schema, x_num, x_cat), 4)
    fast_sample = seconds(lambda: sample_rows(net, schema, batch, method="paper", steps=steps), 2)
    slow_sample = seconds(lambda: literal_sample(literal, schema, batch, steps), 2)
    default = seconds(lambda: sample_rows(net, schema, batch), 2)
    return {"schema": name, "train_rows_s": batch / fast_train, "literal_train_rows_s": batch / slow_train, "train_ratio": slow_train / fast_train,
            "sample_ratio": slow_sample / fast_sample, "shipped_ratio": slow_sample * 50 / steps / default,
            "paper50_rows_s": batch / fast_sample * steps / 50, "default_rows_s": batch / default}


def speed(batch: int, steps: int = 10) -> list[dict]:
    "Both schemas."
    return [compare(name, n_num, sizes, batch, steps) for name, (n_num, sizes) in {"adult": ADULT, "diabetes": DIABETES}.items()]


def memory() -> dict:
    "Peak and drift of resident memory with one column of 5,000 categories; run in a fresh process."
    rss = lambda: int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 2**30
    peak = lambda: int(re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())[1]) / 2**20  # ru_maxrss would count the parent's
    net = Denoiser(ABOUT_1M)
    schema, x_num, x_cat = case(3, [5000, 4, 9], 1024)
    run = trainer(net, schema, x_num, x_cat)
    for _ in range(2): run.step()
    train_peak = peak()
    track = []
    sample_rows(net, schema, 256 * 40, batch_size=1024, progress=lambda share: track.append(rss()))
    steady = track[len(track) // 4:]
    return {"train_peak_GiB": train_peak, "peak_GiB": peak(),
            "sampling_first_GiB": steady[0], "sampling_last_GiB": steady[-1], "sampling_max_over_min": max(steady) / min(steady)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--batch", type=int, default=1024)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--out", default=None)
    parser.add_argument("--memory", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    if args.memory: return print(json.dumps(memory()))
    table = pd.DataFrame(speed(args.batch))
    print(table.round(2).to_string(index=False))
    run = subprocess.run([sys.executable, __file__, "--memory", "--threads", str(args.threads)], check=True, capture_output=True, text=True)
    print("memory with 5,000 categories:", {k: round(v, 3) for k, v in json.loads(run.stdout.splitlines()[-1]).items()})
    if args.out: table.round(3).assign(threads=args.threads).to_csv(args.out, index=False)


if __name__ == "__main__": main()

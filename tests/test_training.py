"""Training over several processes, kills at any moment, and the command line, as a user would run them."""
import json, os, signal, subprocess, sys, time
from pathlib import Path

import numpy as np, pandas as pd, pytest, torch

from cdmd_nb.denoiser import Denoiser, DenoiserConfig, SchemaTensors
from cdmd_nb.training import TrainConfig, TrainingError, TrainTable, train

ROOT = Path(__file__).resolve().parent.parent
TWO = ["-m", "torch.distributed.run", "--nproc_per_node", "2", "--standalone"]
SCRIPT = '''
import sys, json, torch
sys.path.insert(0, {tests!r})
from test_training import toy_table, small_net
from cdmd_nb.training import TrainConfig, train
net = small_net()
result = train(net, [toy_table()], TrainConfig(**json.loads(sys.argv[1])), state_path=sys.argv[2] or None, show=False)
import accelerate
state = accelerate.PartialState()
weights = float(sum(p.double().sum() for p in net.parameters()))
if state.is_main_process: print(json.dumps(dict(heldout=result.heldout, steps=result.steps, weights=weights, processes=state.num_processes)))
'''


def toy_table(n=1500, seed=0) -> TrainTable:
    g, words = torch.Generator().manual_seed(seed), torch.Generator().manual_seed(7)
    x = torch.randn(n, 1, generator=g)
    schema = SchemaTensors(torch.randn(24, generator=words), torch.randn(3, 24, generator=words), torch.randn(3, 24, generator=words), (3,))
    return TrainTable("toy", torch.cat([x, 0.9 * x + 0.4 * torch.randn(n, 1, generator=g)], 1), (x > 0).long() + (x > 1).long(), schema)


def small_net() -> Denoiser:
    torch.manual_seed(0)
    return Denoiser(DenoiserConfig(32, 2, 2, 64, 24))


def environment(**more) -> dict:
    return dict(os.environ, OMP_NUM_THREADS="1", ACCELERATE_USE_CPU="true", PYTHONPATH=str(ROOT / "tests"), **more)


def run_script(tmp_path, config: dict, state: str = "", launch: list[str] = (), **popen):
    script = tmp_path / "train.py"
    script.write_text(SCRIPT.format(tests=str(ROOT / "tests")))
    return subprocess.Popen([sys.executable, *launch, str(script), json.dumps(config), state], env=environment(), stdout=subprocess.PIPE, text=True, **popen)


def result_of(process) -> dict:
    out, _ = process.communicate(timeout=300)
    assert process.returncode == 0, out
    return json.loads(out.splitlines()[-1])


def test_two_processes_reach_the_loss_of_one(tmp_path):
    config = dict(steps=40, batch_size=64)
    one = result_of(run_script(tmp_path, config))
    two = result_of(run_script(tmp_path, config, launch=TWO))
    assert two["steps"] == 40 and (one["processes"], two["processes"]) == (1, 2)
    assert two["heldout"] == pytest.approx(one["heldout"], rel=1e-3)


def test_killed_run_ends_where_an_unbroken_one_does(tmp_path):
    config = dict(steps=120, batch_size=64, save_minutes=0)
    whole = result_of(run_script(tmp_path, config))
    state = tmp_path / "state.safetensors"
    broken = run_script(tmp_path, config, str(state), start_new_session=True)
    deadline = time.monotonic() + 120
    while not state.exists() and time.monotonic() < deadline: time.sleep(0.05)
    os.killpg(broken.pid, signal.SIGKILL)
    broken.wait()
    assert state.exists()
    again = result_of(run_script(tmp_path, config, str(state)))
    assert again == whole


def test_damaged_or_foreign_state_says_so(tmp_path):
    state = tmp_path / "s.safetensors"
    state.write_bytes(b"not a state")
    with pytest.raises(TrainingError, match="damaged: delete it"): train(small_net(), [toy_table()], TrainConfig(steps=2), state_path=state, show=False)
    state.unlink()
    train(small_net(), [toy_table()], TrainConfig(steps=2), state_path=state, show=False)
    with pytest.raises(TrainingError, match="other tables"): train(small_net(), [toy_table()] * 2, TrainConfig(steps=2), state_path=state, show=False)
    with pytest.raises(TrainingError, match="no rows"): train(small_net(), [], TrainConfig(steps=2), show=False)


def test_one_bad_batch_is_skipped():
    table, calls = toy_table(), []
    original = Denoiser.forward

    def sometimes(self, *args):
        calls.append(1)
        num, cat = original(self, *args)
        return (num * float("nan"), cat) if len(calls) % 5 == 0 else (num, cat)

    Denoiser.forward = sometimes
    try: result = train(net := small_net(), [table], TrainConfig(steps=30, holdout=0), show=False)
    finally: Denoiser.forward = original
    assert result.steps == 30 and all(p.isfinite().all() for p in net.parameters())


def test_plateau_decay_is_the_papers():
    result = train(small_net(), [toy_table(64)], TrainConfig(epochs=70, batch_size=64, decay="plateau", optimizer="adamw", lr=0.0, holdout=0), show=False)
    assert result.steps == 70


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    "A 50-row CSV fitted through the installed command."
    folder = tmp_path_factory.mktemp("cli")
    g = np.random.default_rng(0)
    rows = {"age": g.integers(18, 80, 50), "city": g.choice(["Rome", "Oslo"], 50), "paid": g.choice(["yes", "no"], 50), "sum": g.lognormal(size=50).round(2)}
    pd.DataFrame(rows).to_csv(folder / "tiny.csv", index=False)
    done = cdmd("fit", folder / "tiny.csv", "--out", folder / "model", "--minutes", 0.1, "--scratch", "--target", "paid", "--json")
    assert done.returncode == 0, done.stderr
    return folder


def cdmd(*args):
    return subprocess.run([Path(sys.executable).parent / "cdmd", *map(str, args)], capture_output=True, text=True, env=environment(), timeout=300)


def test_fit_and_sample_a_tiny_csv(model):
    done = cdmd("sample", model / "model", "--rows", 100, "--out", model / "new.csv", "--json")
    assert done.returncode == 0, done.stderr
    new = pd.read_csv(model / "new.csv")
    assert json.loads(done.stdout)["rows"] == 100 == len(new) and list(new.columns) == ["age", "city", "paid", "sum"]
    assert set(new.city) <= {"Rome", "Oslo"} and new.age.between(18, 80).all()


@pytest.mark.parametrize("args, code, sentence", [
    (["sample", "{f}/nowhere", "--out", "x.csv"], 1, "neither a folder nor a repository"),
    (["sample", "{f}/model", "--out", "{f}/x.csv", "--where", "city=Bonn"], 1, "'Bonn' is not a value of 'city'; choose 'Oslo', 'Rome'"),
    (["fit", "{f}/none.csv", "--out", "{f}/m"], 1, "none.csv"),
    (["fit", "{f}/tiny.csv", "--out", "{f}/m", "--type", "city=numerical"], 1, "'city' cannot be numerical"),
    (["fit", "{f}/tiny.csv", "--out", "{f}/m", "--target", "price"], 1, "The target 'price' is not a column"),
    (["fit", "{f}/tiny.csv"], 2, "--out"),
])
def test_errors_are_one_sentence_with_an_exit_code(model, args, code, sentence):
    done = cdmd(*(a.format(f=model) for a in args))
    assert done.returncode == code and sentence in done.stderr and "Traceback" not in done.stderr


def test_help_and_a_wrong_path_answer_without_torch():
    script = "import sys\nfrom cdmd_nb.cli import main\ntry: main()\nexcept SystemExit as e: print(e.code, 'torch' in sys.modules, file=sys.stderr)"
    for args, code in ((["--help"], 0), (["fit", "none.csv", "--out", "m"], 1)):
        done = subprocess.run([sys.executable, "-c", script, *args], capture_output=True, text=True, env=environment())
        assert done.stderr.endswith(f"{code} False\n")


def test_shards_of_two_processes_make_one_run(model):
    script = model / "shards.py"
    script.write_text("import sys\nfrom cdmd_nb import Synthesizer\nSynthesizer.from_pretrained(sys.argv[1]).sample_to(sys.argv[2], 900, seed=5)\n")
    subprocess.run([sys.executable, *TWO, script, model / "model", model / "shards"], check=True, env=environment(), timeout=300)
    parts = sorted((model / "shards").glob("*.parquet"))
    rows = pd.concat([pd.read_parquet(p) for p in parts], ignore_index=True)
    from cdmd_nb import Synthesizer
    assert len(parts) == 2 and len(rows) == 900
    torch.set_num_threads(1)
    pd.testing.assert_frame_equal(rows, Synthesizer.from_pretrained(model / "model").sample(900, seed=5))


def test_import_is_light():
    code = ("import sys, time; t = time.perf_counter(); import cdmd_nb; d = time.perf_counter() - t; "
            "print(d, [m for m in ('torch', 'gradio', 'pandas') if m in sys.modules])")
    runs = [subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout for _ in range(3)]
    best = min(runs, key=lambda out: float(out.split()[0]))
    assert float(best.split()[0]) < 0.5 and best.strip().endswith("[]")

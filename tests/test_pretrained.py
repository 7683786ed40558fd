"""The checkpoint that comes with the package."""
import numpy as np, pytest, torch

from cdmd_nb import Synthesizer, load_dataset
from cdmd_nb.codec import TableCodec
from cdmd_nb.datasets import read_manifest
from cdmd_nb.denoiser import DenoiserConfig
from cdmd_nb.synthesizer import EMBEDDED_CHECKPOINT
from cdmd_nb.text import embed_schema
from cdmd_nb.training import TrainConfig, TrainTable, heldout_loss, train


def test_it_is_small_and_says_where_it_comes_from():
    syn = Synthesizer.from_pretrained()
    assert not syn.tables and syn.net.n_parameters < 3e6
    assert sum(f.stat().st_size for f in EMBEDDED_CHECKPOINT.iterdir()) < 3e6
    n = sum(e.split == "train" for e in read_manifest())
    assert f"PyPI corpus: {n} tables" in str(syn.checkpoint.provenance)
    card = (EMBEDDED_CHECKPOINT / "README.md").read_text(encoding="utf-8")
    assert f"{n} tables" in card and "Limits" in card and "Not measured" not in card


@pytest.mark.parametrize("example", ["orders", "placements"])
def test_it_is_a_better_start_than_random_weights(example):
    data = load_dataset(example)
    learned, unseen = data.halves(0)
    codec, losses = TableCodec.fit(learned, data.schema), {}
    for start in (Synthesizer.from_pretrained(), Synthesizer(Synthesizer.from_pretrained().net.config)):
        embedding = embed_schema(codec.variables, start.encoder, start.net.config.apart)
        torch.set_num_threads(1)
        train(start.net, [TrainTable.of(example, codec.encode(learned), embedding)], TrainConfig(steps=150, batch_size=64, holdout=0), show=False)
        judged = TrainTable.of(example, codec.encode(unseen), embedding)
        losses[len(losses)] = sum(heldout_loss(start.net, [judged.rows(torch.arange(len(judged)).repeat(4))]))
    assert losses[0] < losses[1] - 0.02


def test_an_interrupted_calibration_loses_only_itself(monkeypatch):
    def interrupted(*_): raise KeyboardInterrupt
    data, syn = load_dataset("orders"), Synthesizer("tiny")
    monkeypatch.setattr("cdmd_nb.synthesizer.calibrate", interrupted)
    with pytest.raises(KeyboardInterrupt): syn.fit(data.df, schema=data.schema, steps=3, show=False)
    assert [t.calibration for t in syn.tables.values()] == [None]
    assert len(syn.sample(5)) == 5 and syn.checkpoint.provenance[-1]["steps"] == 3


def test_a_network_says_whether_names_are_moved_apart(tmp_path):
    data = load_dataset("orders")
    fitted = Synthesizer(DenoiserConfig(32, 2, 2, 64, apart=True)).fit(data.df, schema=data.schema, steps=2, show=False)
    again = Synthesizer.from_pretrained(fitted.save(tmp_path / "model"))
    plain, moved = (embed_schema(t.codec.variables, again.encoder, apart) for t in again.tables.values() for apart in (False, True))
    (kept,) = (t.embedding for t in again.tables.values())
    assert again.net.config.apart and not np.allclose(moved.columns, plain.columns, atol=0.1)
    np.testing.assert_allclose(kept.columns, moved.columns, atol=1e-5)
    np.testing.assert_allclose(kept.categories, moved.categories, atol=1e-5)
    assert len(again.sample(5)) == 5

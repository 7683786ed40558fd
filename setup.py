"""Installs the package as `settings.ini` describes it."""
from configparser import ConfigParser
from pathlib import Path

from setuptools import find_packages, setup

config = ConfigParser(delimiters=["="])
config.read("settings.ini", encoding="utf-8")
cfg = config["DEFAULT"]

setup(
    name=cfg["lib_name"], version=cfg["version"], description=cfg["description"], keywords=cfg["keywords"], author=cfg["author"],
    license="Apache-2.0", url=cfg["git_url"], packages=find_packages(include=["cdmd_nb", "cdmd_nb.*"]), include_package_data=True,
    python_requires=">=" + cfg["min_python"], install_requires=cfg["requirements"].split(),
    extras_require={extra: cfg[f"{extra}_requirements"].split() for extra in ("corpus", "baselines")},
    package_data={"cdmd_nb": ["corpus/*", "checkpoints/*/*"]},
    long_description=Path("README.md").read_text(encoding="utf-8"), long_description_content_type="text/markdown",
    entry_points={"console_scripts": cfg.get("console_scripts", "").split(), "nbdev": [f"{cfg['lib_name']}={cfg['lib_name']}._modidx:d"]},
)

"""`unrender bench`: one model on this machine, in a process of its own."""

import pytest

from unrender.bench import bench
from unrender.errors import ConfigError, ModelError


def test_a_model_that_writes_text_is_measured(run):
    ran = run("bench", "formula", "--repeat", 1, "--tokens", 2, "--threads", 1)
    assert ran.code == 0, ran.err
    names = ("start to first result", "picture to first token", "each token", "memory at most")
    assert all(name in ran.out for name in names)


def test_a_model_that_labels_words_is_measured():
    report = bench("receipt", repeat=1, threads=1)
    assert list(report.times) == ["window of 400 tokens"]
    assert report.start > report.times["window of 400 tokens"] > 0
    assert 20 < report.megabytes < 4000


def test_what_cannot_be_measured_is_said():
    with pytest.raises(ModelError, match="no model named"):
        bench("formla")
    with pytest.raises(ConfigError, match="must be at least"):
        bench("formula", repeat=0)

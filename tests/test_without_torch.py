"""Reading needs neither torch nor any extra: shown in a second environment that has only the plain installation."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import tiny_systems
from PIL import Image, ImageDraw

from unrender.engines.export import export

ROOT = Path(__file__).parent.parent
_HEAVY = {"torch", "transformers", "albumentations", "onnx", "onnxscript", "safetensors", "huggingface_hub"}
_SCRIPT = """
import json, sys
import unrender
from unrender.reading.reader import Reader
reader = Reader.open(sys.argv[1])
first = reader.read(sys.argv[2])
many = [document.text for document in reader.read_many([sys.argv[2]] * 3, batch=2)]
print(json.dumps({"text": first.text, "many": many, "modules": sorted(sys.modules)}))
"""


@pytest.fixture(scope="module")
def plain_python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of an environment made by `pip install .` and nothing else."""
    folder = tmp_path_factory.mktemp("environment") / "plain"
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    python = folder / "bin" / "python"
    subprocess.run(
        [python, "-m", "pip", "install", "-qq", "--disable-pip-version-check", str(ROOT)], check=True, cwd=folder
    )
    return python


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    return export(tiny_systems.save(tiny_systems.build("cnn"), folder / "model"), folder / "exported").folder


@pytest.fixture(scope="module")
def formula(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("pictures") / "formula.png"
    image = Image.new("L", (60, 30), 255)
    ImageDraw.Draw(image).rectangle((10, 8, 40, 20), fill=0)
    image.save(path)
    return path


@pytest.mark.slow
def test_a_plain_installation_reads_an_exported_model(plain_python: Path, exported: Path, formula: Path) -> None:
    ran = subprocess.run(
        [plain_python, "-c", _SCRIPT, exported, formula], capture_output=True, text=True, check=True, cwd=exported
    )
    found = json.loads(ran.stdout)
    import unrender

    assert found["text"] == unrender.read(formula, model=str(exported)).text != ""
    assert found["many"] == [found["text"]] * 3
    assert not _HEAVY & set(found["modules"])


@pytest.mark.slow
def test_a_plain_installation_has_no_heavy_package(plain_python: Path) -> None:
    script = "import importlib.util, sys; print([name for name in sys.argv[1:] if importlib.util.find_spec(name)])"
    ran = subprocess.run(
        [plain_python, "-c", script, *sorted(_HEAVY - {"huggingface_hub"})], capture_output=True, text=True, check=True
    )
    assert ran.stdout.strip() == "[]"


@pytest.mark.slow
def test_the_command_of_a_plain_installation_says_what_else_it_needs(
    plain_python: Path, exported: Path, formula: Path
) -> None:
    command = plain_python.parent / "unrender"
    ran = subprocess.run([command, "read", formula, "-m", exported], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr.count("Error")) == (0, 0)
    assert ran.stdout.strip()
    ran = subprocess.run([command, "export", exported, exported], capture_output=True, text=True, check=False)
    assert ran.returncode == 1
    assert "pip install 'unrender[train]'" in ran.stderr
    assert "Traceback" not in ran.stderr


def test_reading_an_exported_model_imports_nothing_heavy(exported: Path, formula: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", _SCRIPT, exported, formula], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert not _HEAVY & set(json.loads(ran.stdout)["modules"])

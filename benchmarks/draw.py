"""Write the tables of docs/performance.md and its pictures from benchmarks/results.json."""

import json
import re
from pathlib import Path

import matplotlib as mpl

mpl.use("agg")
from matplotlib import pyplot as plt
from measuring.measure import Spread
from measuring.report import Report, Row
from run import RESULTS, SYSTEMS

DOCS = Path(__file__).parent.parent / "docs"
_PAGE = DOCS / "performance.md"
_PICTURES = DOCS / "performance"
_COLOURS = {"torch": "#b0543f", "transformers": "#b0543f", "onnx": "#3f6fb0", "onnx int8": "#5aa469"}


def main() -> None:
    results = json.loads(RESULTS.read_text())
    _PICTURES.mkdir(exist_ok=True)
    text = _PAGE.read_text(encoding="utf-8")
    for name, table in {"machine": _machine(results), "models": _models(results), "limits": _limits(results)}.items():
        text = re.sub(
            rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)",
            lambda found, table=table: found[1] + table + "\n" + found[2],
            text,
            flags=re.S,
        )
    _PAGE.write_text(text, encoding="utf-8")
    _draw_ratios(results)
    _draw_length(results)
    _draw_cacheless(results)
    _draw_area(results)


def _reports(results: dict) -> list[Report]:
    reports = []
    for name in ("formula", *SYSTEMS):
        if name in results:
            rows = results[name]["rows"].items()
            made = [Row(row, _unit(row), {who: Spread(**each) for who, each in values.items()}) for row, values in rows]
            reports.append(Report(name, results[name]["threads"], tuple(made)))
    return reports


def _unit(row: str) -> str:
    return "MB" if "memory" in row else "s"


def _machine(results: dict) -> str:
    machine = results["machine"]
    clocks = {
        "processor time" if part["plan"]["cpu_time"] else "the clock" for part in results.values() if "plan" in part
    }
    threads = {results[report.model]["threads"] for report in _reports(results)}
    versions = ", ".join(f"{name} {version}" for name, version in machine["versions"].items())
    return (
        f"{machine['processor']}, {versions}; measured {machine['date']} with {' and '.join(map(str, threads))} "
        f"thread(s) by {' and '.join(sorted(clocks))}; memory read at {machine['bandwidth'] / 1e9:.1f} GB/s, "
        f"matrix products at {machine['products'] / 1e9:.0f} GFLOP/s."
    )


def _models(results: dict) -> str:
    return "\n\n".join(report.markdown() for report in _reports(results))


def _limits(results: dict) -> str:
    machine = results["machine"]
    lines = ["| model | token: limit | reached | first token: limit | reached |", "|---|---|---|---|---|"]
    for report in _reports(results):
        rows = {row.name: row.values["onnx"].median for row in report.rows}
        token = machine["bytes per token"][report.model] / machine["bandwidth"]
        image = machine["encoder operations"][report.model] / machine["products"]
        reached = token / rows["greedy step, batch 1"], image / rows["image to first token"]
        lines.append(
            f"| {report.model} | {1e3 * token:.2f} ms | {reached[0]:.0%} | {1e3 * image:.0f} ms | {reached[1]:.0%} |"
        )
    return "\n".join(lines)


def _draw_ratios(results: dict) -> None:
    reports = _reports(results)
    names = [row.name for row in reports[-1].rows]
    figure, axes = plt.subplots(figsize=(9, 4))
    width = 0.8 / len(names)
    for place, name in enumerate(names):
        for who, shade in (("onnx", 1.0), ("onnx int8", 0.35)):
            heights = [next((row.ratio(who) for row in report.rows if row.name == name), 0) for report in reports]
            spots = [index + place * width for index in range(len(reports))]
            label = name if who == "onnx" else None
            axes.bar(spots, heights, width, alpha=shade, color=f"C{place}", label=label)
    axes.axhline(1, color="black", linewidth=0.8)
    axes.set_xticks([index + 0.4 for index in range(len(reports))], [report.model for report in reports])
    axes.set_ylabel("times faster or smaller")
    axes.set_yscale("log")
    axes.set_title("ONNX beside torch (formula) and transformers; pale: 8-bit weights")
    axes.legend(fontsize=7, ncols=3)
    _save(figure, "ratios")


def _draw_length(results: dict) -> None:
    if "length" not in results:
        return
    part = results["length"]
    figure, axes = plt.subplots(figsize=(6, 3.5))
    for name, times in part["seconds"].items():
        places = [part["block"] * (index + 0.5) for index in range(len(times))]
        axes.plot(places, [1e3 * seconds for seconds in times], color=_COLOURS[name], label=name)
    axes.set_xlabel("token of the text")
    axes.set_ylabel("ms for this token")
    axes.set_ylim(bottom=0)
    axes.set_title("nougat-small: what a token costs, by its place")
    axes.legend()
    _save(figure, "length")


def _draw_cacheless(results: dict) -> None:
    if "cacheless" not in results:
        return
    figure, axes = plt.subplots(figsize=(6, 3.5))
    lengths = results["cacheless"]["lengths"]
    for name, colour in (("without cache", "#b0543f"), ("with cache", "#3f6fb0")):
        seconds = [lengths[length][name]["median"] for length in lengths]
        axes.plot([int(length) for length in lengths], seconds, marker="o", color=colour, label=name)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xlabel("tokens of the text")
    axes.set_ylabel("seconds for the text")
    axes.set_title("A decoder of pix2tex's size")
    axes.legend()
    _save(figure, "cacheless")


def _draw_area(results: dict) -> None:
    if "area" not in results:
        return
    figure, axes = plt.subplots(figsize=(6, 3.5))
    for name, sizes in results["area"]["sizes"].items():
        areas = [_area(size) for size in sizes]
        axes.plot(areas, [spread["median"] for spread in sizes.values()], marker="o", label=name)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("pixels of the image")
    axes.set_ylabel("seconds to the first token")
    axes.set_title("What an image costs, by its size")
    axes.legend()
    _save(figure, "area")


def _area(size: str) -> int:
    height, width = map(int, size.split(" x "))
    return height * width


def _save(figure: plt.Figure, name: str) -> None:
    figure.tight_layout()
    figure.savefig(_PICTURES / f"{name}.png", dpi=110)
    plt.close(figure)


if __name__ == "__main__":
    main()

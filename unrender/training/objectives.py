"""What models are trained for: the next token of a text, the three tasks of LayoutLMv2's pre-training, word labels.

Shapes: B rows, T tokens, N memory vectors, V vocabulary, L tokens of a page.
"""

from typing import Generic, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy, ctc_loss, gelu, linear, pad

from unrender.layers.seq2seq import VisionText
from unrender.layers.spatial import LabelInputs, LabelModel
from unrender.reading.ink import Grid, grid_of
from unrender.training.batches import IGNORED, AnyBatch, Batch
from unrender.training.receipt.label_batches import LabelBatch
from unrender.training.receipt.pretraining import PretrainBatch, Tasks
from unrender.training.recipe import Recipe

_SMALLEST_SHARE = 1e-4  # of the attention: what lies lower pulls no harder
_HEAD_STD = 0.02
_ROWS = 32


class Part(NamedTuple):
    """One part of the loss: its sum over a batch, how many units that is of, and how much their mean weighs."""

    total: Tensor
    units: int
    weight: float = 1.0


Losses = dict[str, Part]


class Objective(nn.Module, Generic[AnyBatch]):
    """A model, what is trained along with it and thrown away at the end (`heads`), and what both are trained for."""

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self.module = module
        self.heads: nn.Module = nn.ModuleDict()

    def forward(self, batch: AnyBatch) -> Losses:
        """Return the parts of the loss; the same parts for every batch."""
        raise NotImplementedError


class Transcription(Objective[Batch]):
    """Cross-entropy of the next token; how far the layers look past it; what the cells of the encoder's grid show.

    What the last layer sees no later token can know; half of the heads of the layers before it look at the token too,
    so that those after it learn where the reading has come to.
    """

    def __init__(self, module: VisionText, recipe: Recipe, cases: NDArray[np.int64] | None = None) -> None:
        """`cases` (V,) is each token's other case, itself where there is none; needed for labels without case."""
        super().__init__(module)
        self.reader, self.recipe = module, recipe
        self.cases = None if cases is None else torch.from_numpy(cases)
        if recipe.naming:
            self.heads = _naming_head(module)

    def forward(self, batch: Batch) -> Losses:
        pixels, inputs, targets = (torch.from_numpy(one) for one in (batch.pixels, batch.inputs, batch.targets))
        boxes = None if batch.boxes is None else torch.from_numpy(batch.boxes)
        watched: list[Tensor] | None = None if boxes is None or not self.recipe.pointing else []
        sizes = None if batch.sizes is None or not self.recipe.spelling else torch.from_numpy(batch.sizes)
        memory, mask = self.reader.encode(pixels, sizes)
        hidden = self.reader.decoder.hidden(inputs, memory, mask, watched)
        wanted = targets != IGNORED
        scores = self.reader.decoder.score(hidden[wanted]).float()
        if batch.caseless is not None and self.cases is not None:
            targets = self._choose_case(targets, wanted, scores.detach(), torch.from_numpy(batch.caseless))
        tokens = self.token_loss(scores, targets[wanted], batch)
        count, none = len(scores), tokens.new_zeros(())
        losses = {"tokens": Part(tokens, count)}
        grid = grid_of(self.reader.config.encoder, pixels.shape[2], pixels.shape[3])
        if self.recipe.pointing:
            looks = [weights[:, : weights.shape[1] // 2].mean(1) for weights in (watched or [])[:-1]]
            looks += [weights.mean(1) for weights in (watched or [])[-1:]]
            total = none if boxes is None else sum((off_target(look, boxes, grid) for look in looks), none)
            losses["pointing"] = Part(total, count, self.recipe.pointing)
        if self.recipe.naming:
            cells = memory[:, grid.special :]
            named = none if boxes is None else misnamed(score(self.heads, cells), targets, boxes, grid)
            losses["naming"] = Part(named, count, self.recipe.naming)
        if self.recipe.spelling:
            losses["spelling"] = Part(misspelt(self.reader, memory, mask, targets), count, self.recipe.spelling)
        return losses

    def token_loss(self, scores: Tensor, targets: Tensor, batch: Batch) -> Tensor:
        """Sum the loss of the scores (M, V) of the tokens (M,) that are to be learnt."""
        return cross_entropy(scores, targets, label_smoothing=self.recipe.smoothing, reduction="sum")

    def _choose_case(self, targets: Tensor, wanted: Tensor, scores: Tensor, caseless: Tensor) -> Tensor:
        """Take, in the rows (B,) whose labels tell no case, the case that the model (M, V) finds likelier."""
        assert self.cases is not None
        given = targets[wanted]
        other = self.cases[given]
        likelier = scores.gather(1, other[:, None]) > scores.gather(1, given[:, None])
        free = caseless[:, None].expand_as(targets)[wanted]
        chosen = targets.clone()
        chosen[wanted] = torch.where(free & likelier.squeeze(1), other, given)
        return chosen


class Labelling(Objective[LabelBatch]):
    """Cross-entropy of the label of each word's first token.

    With `frozen`, what reads words, places and picture learns nothing, nor do so many of the layers above it less one.
    """

    def __init__(self, module: LabelModel, *, frozen: int = 0) -> None:
        super().__init__(module)
        self.kept: list[nn.Module] = [module.embedding, *module.encoder.layers[: frozen - 1]] if frozen else []
        for part in self.kept:
            part.requires_grad_(False)

    def forward(self, batch: LabelBatch) -> Losses:
        labels = torch.from_numpy(batch.labels)
        chosen = labels != IGNORED
        for part in self.kept:
            part.eval()  # what it normalises by stays as it is
        scores = self.module(LabelInputs(*(torch.from_numpy(part) for part in batch[:4])))
        total = cross_entropy(scores[chosen], labels[chosen], reduction="sum")
        return {"labels": Part(total, int(chosen.sum()))}


class Pretraining(Objective[PretrainBatch]):
    """The sum of the tasks that are on: masked words (MVLM), covered lines (TIA), whose picture it is (TIM)."""

    def __init__(self, module: LabelModel, tasks: Tasks, seed: int = 0) -> None:
        super().__init__(module)
        self.pages, self.tasks = module, tasks
        self.heads = self.task_heads = _TaskHeads(module, tasks, torch.Generator().manual_seed(seed))

    def forward(self, batch: PretrainBatch) -> Losses:
        vectors = self.pages.encode(LabelInputs(*(torch.from_numpy(part) for part in batch[:4]))).text
        heads, found = self.task_heads, Losses()
        if self.tasks.masking:
            targets = torch.from_numpy(batch.targets)
            chosen = targets != IGNORED
            scores = heads.words(vectors[chosen], self.pages.embedding.words.weight)
            found["mvlm"] = Part(cross_entropy(scores, targets[chosen], reduction="sum"), int(chosen.sum()))
        if self.tasks.alignment:
            labels = torch.from_numpy(batch.alignment)
            chosen = labels != IGNORED
            found["tia"] = _told_apart(heads.alignment(vectors[chosen]), labels[chosen].float())
        if self.tasks.matching:
            found["tim"] = _told_apart(heads.matching(vectors[:, 0]), torch.from_numpy(batch.matched))
        return found


class _TaskHeads(nn.Module):
    """One head for each task that is on; the vocabulary's scores share the word embedding."""

    def __init__(self, encoder: LabelModel, tasks: Tasks, generator: torch.Generator) -> None:
        super().__init__()
        hidden = encoder.layout.hidden
        if tasks.masking:
            self.change = nn.Linear(hidden, hidden)
            self.norm = nn.LayerNorm(hidden, eps=encoder.layout.norm_epsilon)
            self.word_bias = nn.Parameter(torch.zeros(encoder.layout.vocabulary))
        if tasks.alignment:
            self.alignment = nn.Linear(hidden, 1)
        if tasks.matching:
            self.matching = nn.Linear(hidden, 1)
        for layer in self.modules():
            if isinstance(layer, nn.Linear):
                nn.init.normal_(layer.weight, std=_HEAD_STD, generator=generator)
                nn.init.zeros_(layer.bias)

    def words(self, vectors: Tensor, embedding: Tensor) -> Tensor:
        """Score the words that vectors (M, C) stand for: (M, V)."""
        return linear(self.norm(gelu(self.change(vectors))), embedding, self.word_bias)


def _told_apart(scores: Tensor, truth: Tensor) -> Part:
    return Part(binary_cross_entropy_with_logits(scores.squeeze(-1), truth, reduction="sum"), len(truth))


def off_target(attention: Tensor, boxes: Tensor, grid: Grid) -> Tensor:
    """Sum, over the tokens whose box is known, -log of the attention (B, T, N) that falls on its box.

    A cell of the grid counts when it touches the box.
    """
    placed = ~boxes[..., 0].isnan()
    left, top, right, bottom = boxes[placed].unbind(-1)
    down = _touched(top, bottom, grid.rows, grid.cell_height)
    across = _touched(left, right, grid.columns, grid.cell_width)
    cells = (down[:, :, None] & across[:, None]).flatten(1)
    share = (attention[placed][:, grid.special :].float() * cells).sum(-1)
    return -share.clamp(min=_SMALLEST_SHARE).log().sum()


def score(head: nn.Module, vectors: Tensor) -> Tensor:
    """Do what the layer does, with as many outputs as products in bfloat16 are fast for."""
    assert isinstance(head, nn.Linear)
    spare = -head.out_features % _ROWS
    return linear(vectors, pad(head.weight, (0, 0, 0, spare)), pad(head.bias, (0, spare)))[..., : head.out_features]


def misnamed(scores: Tensor, targets: Tensor, boxes: Tensor, grid: Grid) -> Tensor:
    """Sum, over the pictures with boxes, the cross-entropy of their cells (B, N, V + 1), times their tokens.

    It is the mean over a picture's cells, so that beside the loss of the tokens the size of a picture does not matter.
    """
    placed = ~boxes[..., 0].isnan().all(-1)
    labels = name_cells(targets[placed], boxes[placed], grid, nothing=scores.shape[-1] - 1)
    losses = cross_entropy(scores[placed].flatten(0, 1), labels.flatten(), reduction="none")
    tokens = (targets[placed] != IGNORED).sum(-1)
    return (losses.view(labels.shape).mean(-1) * tokens).sum()


def misspelt(reader: VisionText, memory: Tensor, mask: Tensor | None, targets: Tensor) -> Tensor:
    """Sum the CTC loss of the labels (B, T), spelt along the memory (B, N, C) of which `mask` (B, N) is picture."""
    generation = reader.config.generation
    letters = (targets != IGNORED) & (targets != generation.end)
    lengths = torch.full((len(memory),), memory.shape[1]) if mask is None else mask.sum(-1)
    chances = reader.spelling(memory).float().log_softmax(-1).transpose(0, 1)
    return ctc_loss(
        chances, targets[letters], lengths, letters.sum(-1), generation.pad, reduction="sum", zero_infinity=True
    )


def name_cells(targets: Tensor, boxes: Tensor, grid: Grid, nothing: int) -> Tensor:
    """Return for each cell (B, N) the token whose box covers its centre, the smallest such box, or `nothing`."""
    down = (torch.arange(grid.rows) + 0.5) * grid.cell_height
    across = (torch.arange(grid.columns) + 0.5) * grid.cell_width
    left, top, right, bottom = (side[..., None] for side in boxes.unbind(-1))  # (B, T, 1); NaN covers nothing
    rows, columns = (top <= down) & (down <= bottom), (left <= across) & (across <= right)
    covered = (rows[..., None] & columns[..., None, :]).flatten(2)  # (B, T, N)
    areas = ((right - left) * (bottom - top)).masked_fill(~covered, torch.inf)
    smallest, first = areas.min(1)
    return torch.where(smallest.isfinite(), targets.gather(1, first), nothing)


def _naming_head(module: VisionText) -> nn.Linear:
    """Return a layer from the encoder's width to the vocabulary and `nothing`, which finds all equally likely."""
    head = nn.Linear(module.config.encoder.out_width, module.config.decoder.vocabulary + 1)
    nn.init.zeros_(head.weight)
    nn.init.zeros_(head.bias)
    return head


def _touched(first: Tensor, last: Tensor, cells: int, side: int) -> Tensor:
    """Return (tokens, cells): True where a cell overlaps first..last."""
    starts = torch.arange(cells) * side
    return (starts < last[:, None].clamp(min=1)) & (starts + side > first[:, None])

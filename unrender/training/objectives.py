"""What a model that writes text is trained for: the next token, and where the data says where tokens stand, that too.

Shapes: B rows, T tokens, N memory vectors, V vocabulary.
"""

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from unrender.layers.seq2seq import VisionText
from unrender.reading.grid import Grid, grid_of
from unrender.training.batches import IGNORED

_SMALLEST_SHARE = 1e-4  # of the attention: what lies lower pulls no harder


class Objective(nn.Module):
    """Cross-entropy of the next token, summed over a batch; how far the layers look past it; what the cells show.

    What the last layer sees no later token can know; half of the heads of the layers before it look at the token too,
    so that those after it learn where the reading has come to. `heads` are trained along and thrown away at the end.
    """

    def __init__(
        self, module: VisionText, *, smoothing: float = 0.0, pointing: float = 0.0, naming: float = 0.0
    ) -> None:
        super().__init__()
        self.module = module
        self.smoothing, self.pointing, self.naming = smoothing, pointing, naming
        self.heads = nn.ModuleDict()
        if naming:
            self.heads["naming"] = _naming_head(module)

    def forward(self, pixels: Tensor, inputs: Tensor, targets: Tensor, boxes: Tensor | None = None) -> Tensor:
        watched: list[Tensor] | None = None if boxes is None or not self.pointing else []
        memory, mask = self.module.encode(pixels)
        hidden = self.module.decoder.hidden(inputs, memory, mask, watched)
        wanted = targets != IGNORED
        scores = self.module.decoder.score(hidden[wanted])
        loss = cross_entropy(scores, targets[wanted], label_smoothing=self.smoothing, reduction="sum")
        grid = grid_of(self.module.config.encoder, pixels.shape[2], pixels.shape[3])
        if boxes is not None and watched:
            for weights in watched[:-1]:
                loss = loss + self.pointing * off_target(weights[:, : weights.shape[1] // 2].mean(1), boxes, grid)
            loss = loss + self.pointing * off_target(watched[-1].mean(1), boxes, grid)
        if self.naming:
            named = self.heads["naming"](memory[:, grid.special :])
            loss = loss + self.naming * (
                misnamed(named, targets, boxes, grid) if boxes is not None else 0 * named.sum()
            )
        return loss


def off_target(attention: Tensor, boxes: Tensor, grid: Grid) -> Tensor:
    """Sum, over the tokens whose box is known, -log of the attention (B, T, N) that falls on its box.

    A cell of the grid counts when it touches the box.
    """
    placed = ~boxes[..., 0].isnan()
    left, top, right, bottom = boxes[placed].unbind(-1)
    down = _touched(top, bottom, grid.rows, grid.cell_height)
    across = _touched(left, right, grid.columns, grid.cell_width)
    cells = (down[:, :, None] & across[:, None]).flatten(1)
    share = (attention[placed][:, grid.special :] * cells).sum(-1)
    return -share.clamp(min=_SMALLEST_SHARE).log().sum()


def misnamed(scores: Tensor, targets: Tensor, boxes: Tensor, grid: Grid) -> Tensor:
    """Sum, over the pictures with boxes, the cross-entropy of their cells (B, N, V + 1), times their tokens.

    It is the mean over a picture's cells, so that beside the loss of the tokens the size of a picture does not matter.
    """
    placed = ~boxes[..., 0].isnan().all(-1)
    labels = name_cells(targets[placed], boxes[placed], grid, nothing=scores.shape[-1] - 1)
    losses = cross_entropy(scores[placed].flatten(0, 1), labels.flatten(), reduction="none")
    tokens = (targets[placed] != IGNORED).sum(-1)
    return (losses.view(labels.shape).mean(-1) * tokens).sum()


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

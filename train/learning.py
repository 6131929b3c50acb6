"""What both trainings share: a network of nets.py in PyTorch, pictures that come while it learns, and pictures made worse."""
import copy
import csv
import math
import os
import threading
import time

import torch
import torch.nn as nn
import torch.nn.functional as F

import nets

WIDTH, HEIGHT, MAP_W, MAP_H, LABELS = 320, 240, 80, 60, 32


def device():
    return "cuda" if torch.cuda.is_available() else "cpu"


class Net(nn.Module):
    """A description of nets.py with batch normalisation behind each convolution."""

    def __init__(self, net):
        super().__init__()
        self.net, self.parts, channels = net, nn.ModuleDict(), nets.channels_of(net)
        for name, kind, sources, s in net["layers"]:
            if kind == "conv":
                layers = [nn.Conv2d(channels[sources[0]], s["channels"], s["kernel"], padding=s["kernel"] // 2, bias=not s["relu"])]
                layers += [nn.BatchNorm2d(s["channels"]), nn.ReLU(inplace=True)] if s["relu"] else []
                self.parts[name] = nn.Sequential(*layers)
            elif kind == "dense":
                dense = nn.Linear(channels[sources[0]], s["channels"])
                self.parts[name] = nn.Sequential(dense, nn.ReLU()) if s["relu"] else nn.Sequential(dense)

    def forward(self, x):
        """The logits: the last sigmoid is left out."""
        values = {self.net["input"][0]: x}
        for name, kind, sources, _ in self.net["layers"]:
            a = values[sources[0]]
            if kind in ("conv", "dense"):
                y = self.parts[name](a)
            elif kind == "pool":
                y = F.max_pool2d(a, 2)
            elif kind == "concat":
                y = torch.cat([values[s] for s in sources], 1)
            elif kind == "up":
                y = F.interpolate(a, scale_factor=2, mode="bilinear", align_corners=False)
            elif kind == "flatten":
                y = a.flatten(1)
            else:
                y = a
            values[name] = y
        return values[self.net["output"]]

    def weights(self):
        """For nets.to_onnx: batch normalisation folded into the convolution before it."""
        out = {}
        for name, part in self.parts.items():
            w = part[0].weight.detach().double().cpu()
            b = part[0].bias.detach().double().cpu() if part[0].bias is not None else torch.zeros(w.shape[0], dtype=torch.double)
            if len(part) == 3:
                norm = part[1]
                scale = norm.weight.detach().double().cpu() / torch.sqrt(norm.running_var.double().cpu() + norm.eps)
                b = norm.bias.detach().double().cpu() + (b - norm.running_mean.double().cpu()) * scale
                w = w * scale.reshape(-1, 1, 1, 1)
            out[name] = (w.flatten().tolist(), b.flatten().tolist())
        return out


class Course:
    """One network and how it learns: AdamW, a rate that rises and falls as a cosine, and a mean of its latest weights, which is the result."""

    def __init__(self, net, rate):
        self.model = Net(net).to(device())
        if device() == "cuda":
            self.model = self.model.to(memory_format=torch.channels_last)
        self.mean, self.rate, self.steps = copy.deepcopy(self.model).eval(), rate, 0
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=rate, weight_decay=1e-2)

    def step(self, x, loss_of, share):
        """share: of the course, 0 to 1."""
        self.model.train()
        for group in self.optimizer.param_groups:
            group["lr"] = self.rate * min(1, (self.steps + 1) / 200) * (0.01 + 0.99 * (1 + math.cos(math.pi * min(share, 1))) / 2)
        with torch.autocast(device(), dtype=torch.bfloat16, enabled=device() == "cuda"):
            logit = self.model(x)
        loss = loss_of(logit.float())
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 5.0)
        self.optimizer.step()
        self.steps += 1
        keep = min(0.999, self.steps / (self.steps + 10))
        with torch.no_grad():
            mine, mean = list(self.model.parameters()), list(self.mean.parameters())
            torch._foreach_mul_(mean, keep)
            torch._foreach_add_(mean, mine, alpha=1 - keep)
        return loss

    def result(self):
        for of, to in zip(self.model.buffers(), self.mean.buffers()):
            to.copy_(of)
        return self.mean


def load_bytes(path):
    return torch.from_file(path, size=os.path.getsize(path), dtype=torch.uint8)


def load_labels(path, first, count):
    """[picture, label, (class, x, y, shown)] in pixels of the heat map; class -1: none."""
    labels = [[] for _ in range(count)]
    with open(path) as file:
        for row in csv.DictReader(file):
            mine = labels[int(row["image"][:-4]) - first]
            if len(mine) < LABELS:
                x, y = (float(row["point_x"]) + 0.5) / 4 - 0.5, (float(row["point_y"]) + 0.5) / 4 - 0.5
                mine.append([float(nets.CLASSES.index(row["class"])), x, y, float(row["shown"])])
    none = [-1.0] * 4
    return torch.tensor([mine + [none] * (LABELS - len(mine)) for mine in labels])


class Feed:
    """Batches of `nutmeg train data` (folders 0, 1, ... each with a file `done`), loaded by a thread as they come; `count` may be drawn from."""

    def __init__(self, folder, batch, pictures, load):
        """load(folder, first, count at its end): puts a batch there and returns the new count, or None when full."""
        self.count = 0

        def follow():
            number, count = 0, 0
            while count is not None:
                here = os.path.join(folder, str(number))
                if not os.path.exists(here + "/done"):
                    time.sleep(0.2)
                    continue
                count = load(here, number * batch, self.count)
                self.count, number = count or self.count, number + 1
                if number * batch >= pictures:
                    break

        threading.Thread(target=follow, daemon=True).start()

    def wait(self):
        while not self.count:
            time.sleep(0.1)
        return self.count


def lot(x, low, high, *shape):
    """Uniform numbers, one for each picture of x or as shape says."""
    return low + (high - low) * torch.rand(x.shape[0], *(shape or (1, 1, 1)), device=x.device)


def some(x, share):
    """1 for a share of the pictures, else 0."""
    return (lot(x, 0, 1) < share).float()


def warp(x, zoom, turn, shift):
    """Each picture flipped, turned, cut out and moved by lot; zoom: least share of it that is left. Returns it and the map
    from the new place of a point to the old one, both from -1 to 1: [picture, 2, 3]."""
    b, (h, w) = x.shape[0], x.shape[2:]
    flip = torch.where(lot(x, 0, 1)[:, 0, 0, 0] < 0.5, -1.0, 1.0)
    z = (1 - (1 - zoom) * lot(x, -1, 1).clamp(min=0))[:, 0, 0, 0]
    a = lot(x, -turn, turn)[:, 0, 0, 0]
    t = (1 - z + shift)[:, None] * lot(x, -1, 1, 2)
    theta = torch.stack([flip * z * a.cos(), -z * a.sin() * h / w, t[:, 0], flip * z * a.sin() * w / h, z * a.cos(), t[:, 1]], 1).reshape(b, 2, 3)
    return F.grid_sample(x, F.affine_grid(theta, list(x.shape), align_corners=False), padding_mode="border", align_corners=False), theta


def moved(points, theta):
    """Where warp has put points [picture, point, 2], from -1 to 1."""
    (a, b, tx), (c, d, ty) = (row.unbind(1) for row in theta[:, :, :, None].unbind(1))
    x, y, size = points[..., 0] - tx, points[..., 1] - ty, a * d - b * c
    return torch.stack([d * x - b * y, a * y - c * x], -1) / size[..., None]


def cosines():
    k = torch.arange(8.0)
    d = torch.cos(math.pi * (2 * k[None] + 1) * k[:, None] / 16) / 2
    d[0] /= math.sqrt(2)
    return d


def blocky(x):
    """What JPEG leaves: squares of 8 x 8 whose waves are rounded, the finer the coarser, colours more than grey."""
    b, c, h, w = x.shape
    grey = x.mean(1, keepdim=True)
    colour = F.interpolate(F.avg_pool2d(x - grey, 2), scale_factor=2)
    d, k = cosines().to(x.device), torch.arange(8.0, device=x.device)
    step = lot(x, 0.01, 0.09, 1, 1, 1, 1, 1) * (1 + 0.6 * (k[:, None] + k[None]))

    def rounded(v, step):
        n = v.shape[1]
        v = v.reshape(b, n, h // 8, 8, w // 8, 8).permute(0, 1, 2, 4, 3, 5)
        v = d.t() @ (torch.round(d @ v @ d.t() / step) * step) @ d
        return v.permute(0, 1, 2, 4, 3, 5).reshape(b, n, h, w)

    return rounded(grey, step) + rounded(colour, 2 * step)


def worsen(x):
    """Light, colour and optics of another camera, by lot for each picture of a batch in 0 to 1."""
    c = x.shape[1]
    soft = F.avg_pool2d(x, 3, 1, 1, count_include_pad=False)
    softer = F.avg_pool2d(soft, 5, 1, 2, count_include_pad=False)
    x = x + some(x, 0.5) * lot(x, -0.9, 1) * (soft - x)  # below 0: sharpened, as cameras do
    x = x + some(x, 0.1) * lot(x, 0.3, 1) * (softer - x)
    x = x.clamp(min=1e-4) ** torch.exp(some(x, 0.5) * lot(x, -0.5, 0.5))
    mean = x.mean((1, 2, 3), keepdim=True)
    x = mean + (x - mean) * lot(x, 0.7, 1.3)
    x = x * lot(x, 0.7, 1.3)
    if c == 3:
        grey = x.mean(1, keepdim=True)
        x = grey + (x - grey) * (1 + some(x, 0.5) * lot(x, -0.8, 0.6))
        x = x * (1 + some(x, 0.6) * lot(x, -0.25, 0.25, 3, 1, 1))
    x = x + lot(x, 0, 0.04) * some(x, 0.6) * torch.randn_like(x)
    if c == 3 and torch.rand(1).item() < 0.4:
        x = blocky(x)
    return x.clamp(0, 1)


def precision_recall(values, hits, wanted, limits):
    """values: sorted, highest first. [(recall, precision)] at each limit, and the mean precision over all of recall."""
    n = torch.arange(1, len(values) + 1, device=values.device)
    precision, recall = hits.cumsum(0) / n, hits.cumsum(0) / max(wanted, 1)
    best = precision.flip(0).cummax(0).values.flip(0) if len(values) else precision
    area = (best * hits).sum().item() / max(wanted, 1)
    rows = []
    for limit in limits:
        k = int((values > limit).sum())
        rows.append((recall[k - 1].item(), precision[k - 1].item()) if k else (0.0, 0.0))
    return rows, area


def write(out, model, about, command, lines):
    """The network and its card."""
    name = model.net["name"]
    card = "\n".join([about, "command: " + command, "date: " + time.strftime("%Y-%m-%d"),
                      "data: simulated pictures only (nutmeg train data); chosen and tested on simulated ones of two other seeds"] + lines) + "\n"
    notes = [("card", card)] + ([("classes", " ".join(nets.CLASSES))] if name.startswith("heat") else [])
    path = os.path.join(out, name)
    with open(path + ".part", "wb") as file:
        file.write(nets.to_onnx(model.net, model.weights(), notes))
    os.replace(path + ".part", path + ".onnx")
    with open(path + ".txt", "w") as file:
        file.write(card)
    return card

"""Trains the networks of the vision (nets.py) on pictures that `nutmeg train data` draws, and nothing else.

    python3 train/train.py --nutmeg build/nutmeg --out models --minutes 8

Needs PyTorch. With a GPU eight minutes are enough; on a CPU use --tiny to see that everything works. Writes ball.onnx and
heat.onnx with their cards (ball.txt, heat.txt): data, command, date and scores on pictures of another seed.
"""
import argparse
import csv
import datetime
import os
import subprocess
import sys
import tempfile
import time

import torch
import torch.nn as nn
import torch.nn.functional as F

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import nets

WIDTH, HEIGHT, MAP_W, MAP_H, LABELS = 320, 240, 80, 60, 32
SHOWN = 0.35  # what shows less counts neither way


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


def draw(nutmeg, folder, count, seed):
    command = nutmeg.split() + ["train", "data", "--raw", "-o", folder, "-n", str(count), "--seed", str(seed), "--size", "%dx%d" % (WIDTH, HEIGHT)]
    subprocess.run(command, check=True)


def load_bytes(path):
    return torch.from_file(path, size=os.path.getsize(path), dtype=torch.uint8)


def load_labels(path, count):
    """[picture, label, (class, x, y, shown)] in pixels of the heat map; class -1: none."""
    labels = [[] for _ in range(count)]
    with open(path) as file:
        for row in csv.DictReader(file):
            mine = labels[int(row["image"][:-4])]
            if len(mine) < LABELS:
                x, y = (float(row["point_x"]) + 0.5) / 4 - 0.5, (float(row["point_y"]) + 0.5) / 4 - 0.5
                mine.append([float(nets.CLASSES.index(row["class"])), x, y, float(row["shown"])])
    none = [-1.0] * 4
    return torch.tensor([mine + [none] * (LABELS - len(mine)) for mine in labels])


def heat_targets(labels):
    """Heat maps with a bump of 1 at each label, and the weight of each pixel: 0 around what counts neither way."""
    b, device = labels.shape[0], labels.device
    kind, x, y, shown = labels.unbind(-1)
    gx = torch.arange(MAP_W, device=device)[None, None, None, :]
    gy = torch.arange(MAP_H, device=device)[None, None, :, None]
    square = (gx - x[:, :, None, None]) ** 2 + (gy - y[:, :, None, None]) ** 2
    # the pixel that is nearest must be exactly 1
    near = (gx == x.round()[:, :, None, None]) & (gy == y.round()[:, :, None, None])
    bump = torch.where(near, torch.ones_like(square), torch.exp(-square / (2 * 1.3 ** 2)))
    seen, doubt = (shown >= SHOWN) & (kind >= 0), (shown < SHOWN) & (kind >= 0)
    target = torch.zeros(b, len(nets.CLASSES), MAP_H, MAP_W, device=device)
    weight = torch.ones_like(target)
    for c in range(len(nets.CLASSES)):
        target[:, c] = (bump * (seen & (kind == c))[:, :, None, None]).amax(1)
        close = ((square < 5 ** 2) & (doubt & (kind == c))[:, :, None, None]).any(1)
        weight[:, c] = 1 - close.float() * (target[:, c] < 0.5)
    return target, weight


def focal_loss(logit, target, weight):
    """Penalty-reduced focal loss (Law, Deng 2018: CornerNet)."""
    p = torch.sigmoid(logit).clamp(1e-4, 1 - 1e-4)
    hit = target > 0.999
    loss = torch.where(hit, -((1 - p) ** 2) * torch.log(p), -((1 - target) ** 4) * p ** 2 * torch.log(1 - p))
    return (loss * weight).sum() / hit.sum().clamp(min=1)


def recolour(x):
    """Brightness, contrast and colour of a batch in 0 to 1, by lot for each picture."""
    b, c = x.shape[:2]
    shape = (b, c, 1, 1)
    mean = x.mean((2, 3), keepdim=True)
    x = mean + (x - mean) * (1 + 0.4 * (torch.rand(b, 1, 1, 1, device=x.device) - 0.5))
    x = x * (1 + 0.3 * (torch.rand(b, 1, 1, 1, device=x.device) - 0.5)) * (1 + 0.2 * (torch.rand(shape, device=x.device) - 0.5))
    return (x + 0.02 * torch.randn_like(x)).clamp(0, 1)


def fit(model, batch_of, loss_of, n, batch, seconds, device, rate):
    """AdamW; the rate rises and falls over the given time."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate, weight_decay=1e-3)
    begun, steps, total = time.time(), 0, 0.0
    model.train()
    while True:
        share = (time.time() - begun) / seconds
        if share >= 1 and steps:
            break
        for group in optimizer.param_groups:
            group["lr"] = rate * min(1, steps / 100 + 0.01) * max(0.01, 1 - share)
        x, target = batch_of(torch.randint(0, n, (batch,), device=device))
        with torch.autocast(device, dtype=torch.bfloat16, enabled=device == "cuda"):
            logit = model(x)
        loss = loss_of(logit.float(), target)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
        steps += 1
        if steps % 200 == 1:
            total = loss.item()
            print("  step %d, %.0f s, loss %.4f" % (steps, time.time() - begun, total), flush=True)
    model.eval()
    return steps


def train_ball(folder, test, seconds, device, batch):
    def load(where):
        x = load_bytes(where + "/patches.u8").reshape(-1, 1, 32, 32).to(device)
        return x, load_bytes(where + "/patches_ball.u8").float().to(device)

    x, y = load(folder)
    model = Net(nets.ball()).to(device)

    def batch_of(i):
        a = x[i].float() / 255
        if torch.rand(1).item() < 0.5:
            a = a.flip(3)
        return recolour(a), y[i]

    steps = fit(model, batch_of, lambda p, t: F.binary_cross_entropy_with_logits(p[:, 0], t), len(y), batch, seconds, device, 3e-3)
    xt, yt = load(test)
    with torch.no_grad():
        p = torch.cat([torch.sigmoid(model(part.float() / 255))[:, 0] for part in xt.split(4096)])
    lines = ["trained on %d patches (%d of balls), %d steps of %d" % (len(y), int(y.sum()), steps, batch)]
    for limit in (0.3, 0.5, 0.7, 0.9):
        hits, found, balls = ((p > limit) & (yt > 0.5)).sum().item(), (p > limit).sum().item(), (yt > 0.5).sum().item()
        lines.append("above %.1f: recall %.4f, precision %.4f (%d test patches)" % (limit, hits / max(balls, 1), hits / max(found, 1), len(yt)))
    return model, lines


def score_heat(model, images, labels, device, limit):
    """Hits within 2 pixels of the heat map (8 of the picture); each label and each peak counts once."""
    counts = torch.zeros(len(nets.CLASSES), 3)  # hits, labels, peaks
    for i in range(0, len(images), 64):
        with torch.no_grad():
            p = torch.sigmoid(model(images[i:i + 64].to(device).permute(0, 3, 1, 2).float() / 255)).float().cpu()
        peaks = [[[] for _ in nets.CLASSES] for _ in p]
        for b, c, y, x in ((p == F.max_pool2d(p, 5, 1, 2)) & (p > limit)).nonzero().tolist():
            peaks[b][c].append((y, x))
        for b in range(p.shape[0]):
            mine = labels[i + b].tolist()
            for c in range(len(nets.CLASSES)):
                points = [q for q in mine if q[0] == c]
                used = set()
                for y, x in peaks[b][c]:
                    best = min(range(len(points)), key=lambda k: (points[k][1] - x) ** 2 + (points[k][2] - y) ** 2, default=None)
                    near = best is not None and (points[best][1] - x) ** 2 + (points[best][2] - y) ** 2 < 2.5 ** 2
                    if near and points[best][3] < SHOWN:
                        continue
                    counts[c, 2] += 1
                    if near and best not in used:
                        used.add(best)
                        counts[c, 0] += 1
                counts[c, 1] += sum(1 for q in points if q[3] >= SHOWN)
    return counts


def train_heat(folder, test, seconds, device, batch):
    images = load_bytes(folder + "/images.u8").reshape(-1, HEIGHT, WIDTH, 3)
    labels = load_labels(folder + "/labels.csv", len(images)).to(device)
    images = images.to(device)
    model = Net(nets.sweaty()).to(device)
    if device == "cuda":
        model = model.to(memory_format=torch.channels_last)
    with torch.no_grad():
        model.parts["logit"][0].bias.fill_(-4.0)  # nearly everywhere there is nothing

    def batch_of(i):
        x, mine = images[i].permute(0, 3, 1, 2).float() / 255, labels[i].clone()
        if torch.rand(1).item() < 0.5:
            x = x.flip(3)
            mine[..., 1] = MAP_W - 1 - mine[..., 1]
        return recolour(x), heat_targets(mine)

    steps = fit(model, batch_of, lambda p, t: focal_loss(p, *t), len(images), batch, seconds, device, 2e-3)
    seen = load_bytes(test + "/images.u8").reshape(-1, HEIGHT, WIDTH, 3)
    truth = load_labels(test + "/labels.csv", len(seen))
    lines = ["trained on %d pictures, %d steps of %d" % (len(images), steps, batch)]
    for limit in (0.25, 0.4, 0.6):
        for name, (hits, wanted, found) in zip(nets.CLASSES, score_heat(model, seen, truth, device, limit).tolist()):
            lines.append("above %.2f: %-12s recall %.3f, precision %.3f (%d)" % (limit, name, hits / max(wanted, 1), hits / max(found, 1), wanted))
    return model, lines


def write(out, model, lines, command):
    name = model.net["name"]
    about = {"ball": "A grey patch of 32 x 32 pixels, 0 to 1, 1.4 x as wide as the ball that may be in it, to the probability that it is one.",
             "heat": "An RGB picture, 0 to 1, to one heat map a class at a quarter of its size. Peaks are balls, feet of posts and robots, crossings of lines and penalty marks."}
    card = "\n".join([about[name], "command: " + command, "date: " + datetime.date.today().isoformat(),
                      "data: simulated pictures only (nutmeg train data); tested on simulated ones of another seed"] + lines) + "\n"
    notes = [("card", card)] + ([("classes", " ".join(nets.CLASSES))] if name == "heat" else [])
    with open(os.path.join(out, name + ".onnx"), "wb") as file:
        file.write(nets.to_onnx(model.net, model.weights(), notes))
    with open(os.path.join(out, name + ".txt"), "w") as file:
        file.write(card)
    print(card, flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nutmeg", default="build/nutmeg", help="the program, with whatever must stand before it")
    parser.add_argument("--out", default="models")
    parser.add_argument("--pictures", type=int, default=60000)
    parser.add_argument("--minutes", type=float, default=8, help="of everything; training takes what drawing leaves")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--tiny", action="store_true", help="a few pictures and steps: shows that everything works")
    o = parser.parse_args()
    torch.manual_seed(o.seed)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    if o.tiny:
        o.pictures = 64
    os.makedirs(o.out, exist_ok=True)
    command = "python3 train/train.py --pictures %d --minutes %g --seed %d" % (o.pictures, o.minutes, o.seed)
    with tempfile.TemporaryDirectory() as folder:
        begun = time.time()
        draw(o.nutmeg, folder + "/train", o.pictures, o.seed)
        draw(o.nutmeg, folder + "/test", max(32, o.pictures // 40), o.seed + 1000)
        print("pictures drawn in %.0f s, training on %s" % (time.time() - begun, device), flush=True)
        left = 6 if o.tiny else max(60, o.minutes * 60 - (time.time() - begun) - 40)  # s; the rest is for loading and scores
        ball, heat = (16, 4) if o.tiny else (1024, 96)
        write(o.out, *train_ball(folder + "/train", folder + "/test", 0.2 * left, device, ball), command)
        write(o.out, *train_heat(folder + "/train", folder + "/test", 0.8 * left, device, heat), command)


if __name__ == "__main__":
    main()

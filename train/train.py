"""Trains the networks of the vision (nets.py) on pictures that `nutmeg train data` draws, and nothing else.

    python3 train/train.py --nutmeg build/nutmeg --out models --minutes 8

Needs PyTorch. Pictures are drawn on all cores while the networks learn from those that are there. With a GPU eight minutes
are enough; on a CPU use --tiny to see that everything works. Writes heat.onnx and heat_wide.onnx (SweatyNet at half and at
full width), ball.onnx, the networks that search.py found (search/, search.csv), and a card beside each: data, command,
date, and scores on pictures of other seeds.
"""
import argparse
import multiprocessing
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time

import torch
import torch.nn.functional as F

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import nets
import search
from learning import (HEIGHT, LABELS, MAP_H, MAP_W, WIDTH, Course, Feed, device, load_bytes, load_labels, moved, precision_recall,
                      warp, worsen, write)

SHOWN = 0.35  # what shows less counts neither way
WEIGHTS = [2.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.5]  # of the classes: balls matter most
LIMITS = [i / 40 for i in range(4, 33)]
ABOUT = ("An RGB picture, 0 to 1, to one heat map a class at a quarter of its size. Peaks are balls, feet of posts and robots, "
         "crossings of lines and penalty marks.")


def heat_targets(labels):
    """Heat maps with a bump of 1 at each label, and the weight of each pixel: 0 around what counts neither way."""
    kind, x, y, shown = labels.unbind(-1)
    gx = torch.arange(MAP_W, device=labels.device)[None, None, None, :]
    gy = torch.arange(MAP_H, device=labels.device)[None, None, :, None]
    square = (gx - x[:, :, None, None]) ** 2 + (gy - y[:, :, None, None]) ** 2
    # the pixel that is nearest must be exactly 1
    near = (gx == x.round()[:, :, None, None]) & (gy == y.round()[:, :, None, None])
    bump = torch.where(near, torch.ones_like(square), torch.exp(-square / (2 * 1.3 ** 2)))
    seen, doubt = (shown >= SHOWN) & (kind >= 0), (shown < SHOWN) & (kind >= 0)
    index = kind.clamp(min=0).long()[:, :, None, None].expand_as(bump)
    none = torch.zeros(labels.shape[0], len(nets.CLASSES), MAP_H, MAP_W, device=labels.device)
    target = none.scatter_reduce(1, index, bump * seen[:, :, None, None], "amax")
    close = none.scatter_reduce(1, index, ((square < 5 ** 2) & doubt[:, :, None, None]).float(), "amax")
    return target, (1 - close * (target < 0.5)) * torch.tensor(WEIGHTS, device=labels.device)[:, None, None]


def focal_loss(logit, target, weight):
    """Penalty-reduced focal loss (Law, Deng 2018: CornerNet)."""
    p = torch.sigmoid(logit).clamp(1e-4, 1 - 1e-4)
    hit = target > 0.999
    loss = torch.where(hit, -((1 - p) ** 2) * torch.log(p), -((1 - target) ** 4) * p ** 2 * torch.log(1 - p))
    return (loss * weight).sum() / hit.sum().clamp(min=1)


def peaks_of(model, images, labels):
    """For each class: [(height, hit)] of all peaks, highest first, and the number of labels. A hit lies within 2.5 pixels of the
    heat map (10 of the picture); each label is hit once, and what hits one that hardly shows counts neither way."""
    found, wanted = [[] for _ in nets.CLASSES], [0] * len(nets.CLASSES)
    for i in range(0, len(images), 64):
        with torch.no_grad():
            p = torch.sigmoid(model(images[i:i + 64].to(device()).permute(0, 3, 1, 2).float() / 255)).float().cpu()
        peaks = ((p == F.max_pool2d(p, 5, 1, 2)) & (p > LIMITS[0])).nonzero()
        heights, left = p[peaks.unbind(1)].tolist(), labels[i:i + 64].tolist()
        for value, (b, c, y, x) in sorted(zip(heights, peaks.tolist()), key=lambda a: -a[0]):
            points = [q for q in left[b] if q[0] == c and (q[1] - x) ** 2 + (q[2] - y) ** 2 < 2.5 ** 2]
            best = min(points, key=lambda q: (q[1] - x) ** 2 + (q[2] - y) ** 2, default=None)
            if best is None or best[3] >= SHOWN:
                found[c].append((value, best is not None))
            if best is not None:
                left[b].remove(best)
        for q in (q for mine in labels[i:i + 64].tolist() for q in mine if q[0] >= 0 and q[3] >= SHOWN):
            wanted[int(q[0])] += 1
    return [torch.tensor(sorted(f, reverse=True)).reshape(-1, 2) for f in found], wanted


def score(model, choose, test):
    """Lines of the card: for each class the limit with the best mean of recall and precision on `choose`, and what it gives on `test`."""
    lines, chosen, judged = [], peaks_of(model, *choose), peaks_of(model, *test)
    for c, name in enumerate(nets.CLASSES):
        rows, _ = precision_recall(*chosen[0][c].t(), chosen[1][c], LIMITS)
        best = max(range(len(rows)), key=lambda k: 2 * rows[k][0] * rows[k][1] / max(sum(rows[k]), 1e-9))
        rows, area = precision_recall(*judged[0][c].t(), judged[1][c], LIMITS)
        lines.append("%-12s above %.3f: recall %.3f, precision %.3f; mean precision %.3f (%d)" % (name, LIMITS[best], *rows[best], area, judged[1][c]))
    return lines


def pictures(folder, first=0):
    images = load_bytes(folder + "/images.u8").reshape(-1, HEIGHT, WIDTH, 3)
    return images, load_labels(folder + "/labels.csv", first, len(images))


def train_heat(o, folder, begun, command):
    torch.manual_seed(o.seed)
    torch.backends.cudnn.benchmark = True
    images = torch.empty(o.pictures, HEIGHT, WIDTH, 3, dtype=torch.uint8, device=device())
    labels = torch.empty(o.pictures, LABELS, 4, device=device())

    def load(here, first, at):
        some, mine = pictures(here, first)
        n = min(len(some), len(images) - at)
        images[at:at + n].copy_(some[:n])
        labels[at:at + n].copy_(mine[:n])
        os.remove(here + "/images.u8")
        return at + n

    feed = Feed(folder, o.batch, o.pictures, load)
    courses = [Course(nets.sweaty(0.5, "heat"), 3e-3), Course(nets.sweaty(1.0, "heat_wide"), 2e-3)]
    for course in courses:
        with torch.no_grad():
            for net in (course.model, course.mean):
                net.parts["logit"][0].bias.fill_(-4.0)  # nearly everywhere there is nothing
    choose, test = pictures(folder + "/choose"), pictures(folder + "/test")
    feed.wait()
    start, ends, told, kept = time.time(), begun + 60 * o.minutes - o.spare, 0, time.time()
    print("heat: begins after %.0f s on %s" % (start - begun, device()), flush=True)

    def keep(few):
        for course in courses:
            said = ["trained on %d pictures, %d steps of %d" % (feed.count, course.steps, o.heat_batch)]
            said += score(course.result(), *((a[:few], b[:few]) for a, b in (choose, test)))
            write(o.out, course.mean, ABOUT, command, said)
            print("%.0f s, %s:\n  " % (time.time() - begun, course.mean.net["name"]) + "\n  ".join(said), flush=True)

    while time.time() < ends or not courses[0].steps:
        share = (time.time() - start) / max(ends - start, 1e-3)
        i = torch.randint(0, feed.count, (o.heat_batch,), device=device())
        x, theta = warp(images[i].permute(0, 3, 1, 2).float() / 255, 0.6, 0.1, 0)
        mine, size = labels[i].clone(), torch.tensor([MAP_W, MAP_H], device=device())
        at = moved((mine[..., 1:3] + 0.5) * 2 / size - 1, theta)
        mine[..., 1:3] = (at.clamp(-1, 1) + 1) / 2 * size - 0.5
        far = at.abs().amax(-1)  # what was cut off counts neither way at the edge
        mine[..., 0] = torch.where(far < 1.4, mine[..., 0], -1.0)
        mine[..., 3] = torch.where(far < 1, mine[..., 3], 0.1)
        target, weight = heat_targets(mine)
        x = worsen(x)
        losses = [course.step(x, lambda p: focal_loss(p, target, weight), share) for course in courses]
        if time.time() > told + 10:
            told = time.time()
            print("heat: %.0f s, %d pictures, step %d, loss %s" % (told - begun, feed.count, courses[0].steps, " ".join("%.3f" % v.item() for v in losses)), flush=True)
        if time.time() > kept + 120:
            keep(200)
            kept = time.time()
    keep(None)


def draw(o, folder, count, seed, first=0):
    command = ["nice"] + o.nutmeg.split() + ["train", "data", "--raw", "-o", folder, "-n", str(count), "--seed", str(seed), "--first", str(first),
                                  "--size", "%dx%d" % (WIDTH, HEIGHT), "--workers", str(o.workers)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    open(folder + "/done", "w").close()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nutmeg", default="build/nutmeg", help="the program, with whatever must stand before it")
    parser.add_argument("--out", default="models")
    parser.add_argument("--pictures", type=int, default=260000, help="at most; 230 kB each on the GPU")
    parser.add_argument("--minutes", type=float, default=8, help="of everything")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=os.cpu_count(), help="threads that draw")
    parser.add_argument("--tiny", action="store_true", help="a few pictures and steps: shows that everything works")
    o = parser.parse_args()
    o.batch, o.heat_batch, o.tests, o.spare = (32, 4, 32, 2) if o.tiny else (2048, 192, 1500, 35)
    if o.tiny:
        o.pictures, o.minutes = 64, 0.4
    command = "python3 train/train.py --pictures %d --minutes %g --seed %d" % (o.pictures, o.minutes, o.seed)
    begun = time.time()
    os.makedirs(o.out + "/search", exist_ok=True)
    folder = tempfile.mkdtemp()
    try:
        draw(o, folder + "/choose", o.tests, o.seed + 1000)
        draw(o, folder + "/test", o.tests, o.seed + 2000)
        print("drawing: %.1f ms a picture" % ((time.time() - begun) * 500 / o.tests), flush=True)
        context = multiprocessing.get_context("spawn")
        parts = [context.Process(target=train_heat, args=(o, folder, begun, command)),
                 context.Process(target=search.train_ball, args=(o, folder, begun, command))]
        for part in parts:
            part.start()

        def draw_on():
            for number in range((o.pictures + o.batch - 1) // o.batch):
                if time.time() > begun + 0.85 * 60 * o.minutes:
                    break
                draw(o, "%s/%d" % (folder, number), o.batch, o.seed, number * o.batch)

        threading.Thread(target=draw_on, daemon=True).start()
        for part in parts:
            part.join(max(1, begun + 60 * o.minutes + 20 - time.time()) if not o.tiny else None)
            if part.exitcode != 0:
                print("a part ended with %s" % part.exitcode, flush=True)
                part.terminate()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    sys.exit(any(part.exitcode for part in parts))


if __name__ == "__main__":
    main()

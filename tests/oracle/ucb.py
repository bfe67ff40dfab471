"""UCB and its relatives for a world that changes: all is computed anew from the list of pulls."""

from math import ceil, erfc, floor, fsum, log, sqrt

from oracle.twin import Twin, of

ROOT_2 = sqrt(2.0)


class Index(Twin):
    """Every arm once in random order; then the largest index, ties at random."""

    def begin(self):
        self.queue = list(range(self.arms))
        self.stream.shuffle(self.queue)

    def ask(self):
        if not self.queue:
            self.queue = self.plan()
        return self.queue.pop(0)

    def plan(self):
        return [self.largest([self.index(k) for k in range(self.arms)])]

    @property
    def t(self):
        """The number of the pull to decide."""
        return len(self.pulled) + 1


def ucb(rewards, scale, logarithm):
    if not rewards:
        return 1e300
    n = len(rewards)
    return fsum(rewards) / n + scale * sqrt(logarithm / n)


class UCB1(Index):
    def index(self, k):
        return ucb(self.rewards(k), self.scale, max(log(self.t), 1.0))


class SWUCB(Index):
    def index(self, k):
        t = self.t if self.reference else min(self.t, self.window)
        return ucb(of(k, self.pulled[-self.window :]), self.scale, log(t))


class DUCB(Index):
    def index(self, k):
        last = len(self.pulled) - 1
        weights = [self.discount ** (last - i) for i in range(last + 1)]
        own = [i for i in range(last + 1) if self.pulled[i][0] == k]
        count = fsum(weights[i] for i in own)
        if count < 1e-200:
            return 1e300
        mean = fsum(weights[i] * self.pulled[i][1] for i in own) / count
        return mean + self.scale * sqrt(log(fsum(weights)) / count)


class CUSUMUCB(Index):
    restarts = 0

    def plan(self):
        kept = [self.since_restart(self.rewards(k)) for k in range(self.arms)]
        owing = [k for k in range(self.arms) if len(kept[k]) < self.warmup]
        if owing:
            self.stream.shuffle(owing)
            return owing
        if self.stream.uniform() < self.exploration:
            return [self.stream.below(self.arms)]
        n = sum(len(rewards) for rewards in kept)
        return [self.largest([ucb(rewards, self.scale, log(n)) for rewards in kept])]

    def since_restart(self, rewards):
        start = 0
        for end in range(len(rewards) + 1):
            if self.has_changed(rewards[start:end]):
                start = end
                self.restarts += 1
        return rewards[start:]

    def has_changed(self, rewards):
        if len(rewards) <= self.warmup:
            return False
        level = fsum(rewards[: self.warmup]) / self.warmup
        up = down = 0.0
        for x in rewards[self.warmup :]:
            up = max(0.0, up + (x - level) - self.drift)
            down = max(0.0, down - (x - level) - self.drift)
        return up >= self.threshold or down >= self.threshold


def sessions(arms, alpha, age):
    """Where sessions of diminishing exploration begin, up to an age; −K stands for none."""
    begins = [-arms]
    begin = ceil((arms / (4 * alpha)) ** 2)
    while begin <= age:
        begins.append(begin)
        begin = max(begin + arms, ceil((sqrt(begin) + arms / (2 * alpha)) ** 2))
    return begins


class MUCB(Index):
    restarts = 0

    def begin(self):
        super().begin()
        self.order = list(self.queue)

    def plan(self):
        age = self.t - 1
        begin = age // floor(self.arms / self.exploration) * floor(self.arms / self.exploration)
        if self.diminishing:
            begin = sessions(self.arms, self.exploration, age)[-1]
        return [self.order[age - begin]] if age - begin < self.arms else super().plan()

    def index(self, k):
        return ucb(self.rewards(k), self.scale, log(self.t))

    def tell(self, arm, reward):
        super().tell(arm, reward)
        last = self.rewards(arm)[-self.window :]
        if len(last) == self.window:
            half = self.window // 2
            if abs(fsum(last[half:]) - fsum(last[:half])) > self.threshold:
                self.pulled = []  # and time starts again
                self.restarts += 1


class RAWUCB(Index):
    def index(self, k):
        rewards = self.rewards(k)
        width = self.sigma * sqrt(2.0 * self.alpha * log(self.t))
        bounds = []
        h = 1
        while h <= len(rewards):
            bounds.append(newest_mean(rewards, h, self.all_windows) + width / sqrt(h))
            h = h + 1 if self.all_windows else 2 * h
        return min(bounds)


def newest_mean(rewards, h, all_windows):
    """The mean of the last h rewards; windows move on by h/2 at a time, unless all are kept."""
    step = 1 if all_windows else max(h // 2, 1)
    end = len(rewards) // step * step
    return fsum(rewards[end - h : end]) / h


class FEWA(Index):
    """The paper's box: filter the arms on longer and longer windows."""

    def plan(self):
        rewards = [self.rewards(k) for k in range(self.arms)]
        left = list(range(self.arms))
        h = 1
        while True:
            width = self.sigma * sqrt(2.0 * self.alpha * log(self.t) / h)
            means = {k: newest_mean(rewards[k], h, self.all_windows) for k in left}
            left = [k for k in left if max(means.values()) - means[k] <= 2.0 * width]
            h = h + 1 if self.all_windows else 2 * h
            short = [k for k in left if len(rewards[k]) < h]
            if len(left) == 1 or short:
                fewest = min(len(rewards[k]) for k in short or left)
                return [self.one_of([k for k in short or left if len(rewards[k]) == fewest])]


class AdSwitch(Index):
    """The paper's box, with intervals from a grid of blocks of 1, 2, 4 … steps."""

    time = episodes = evictions = checks = 0

    def begin(self):
        super().begin()
        self.chosen = {k: self.queue.index(k) - self.arms for k in range(self.arms)}
        self.new_episode()

    def new_episode(self):
        self.episodes += 1
        self.pulled = []  # in this episode
        self.good = set(range(self.arms))
        self.evicted = {}  # arm → its mean and gap at that time
        self.obligations = {}  # arm → [(pulls due, from which pull of the episode on)]

    def plan(self):
        self.time += 1
        log_T = log(self.horizon)
        rate = sqrt(self.episodes / (self.arms * self.horizon * log_T))
        for k in range(self.arms):
            if k not in self.good:
                for i in range(1, 25):
                    d = 2.0**-i
                    if d >= self.evicted[k][1] / 16:
                        if self.stream.uniform() < d * rate:
                            self.obligations[k].append((floor(2 * log_T / d**2), len(self.pulled)))
                            self.checks += 1
        active = [k for k in range(self.arms) if k in self.good or self.is_checked(k)]
        arm = min(active, key=lambda k: self.chosen[k])
        self.chosen[arm] = self.time
        return [arm]

    def is_checked(self, k):
        return any(len(of(k, self.pulled[s:])) < n for n, s in self.obligations[k])

    def tell(self, arm, reward):
        super().tell(arm, reward)
        t = len(self.pulled)
        blocks, suffixes = [], []
        size = 1
        while size <= t:
            blocks += [(s, s + size) for s in range(0, t - size + 1, size)]
            suffixes.append((t // size * size - size, t))
            size *= 2
        if any(self.has_changed(k, blocks, suffixes) for k in range(self.arms)):
            self.new_episode()
            return
        remaining = set(self.good)
        for s, e in suffixes:
            samples = {k: of(k, self.pulled[s:e]) for k in sorted(remaining)}
            means = {k: fsum(xs) / len(xs) for k, xs in samples.items() if xs}
            for k, mean in means.items():
                gap = max(means.values()) - mean
                n = len(samples[k])
                if n >= 2 and gap > sqrt(self.eviction * log(self.horizon) / (n - 1)):
                    remaining.remove(k)
                    self.evicted[k] = (mean, gap)
                    self.obligations[k] = []
                    self.evictions += 1
        self.good = remaining

    def has_changed(self, k, blocks, suffixes):
        now = [self.estimate(k, *suffix) for suffix in suffixes]
        now = [x for x in now if x is not None]
        if k in self.good:
            past = [self.estimate(k, *block) for block in blocks]
            past = [x for x in past if x is not None]
            return any(abs(a - b) > u + v for a, u in past for b, v in now)
        mean, gap = self.evicted[k]
        return any(abs(b - mean) > gap / 4 + v for b, v in now)

    def estimate(self, k, s, e):
        """The mean of the arm between two steps and its radius, or None."""
        rewards = of(k, self.pulled[s:e])
        if not rewards:
            return None
        n = len(rewards)
        return fsum(rewards) / n, sqrt(2 * log(self.horizon) / n)


class MOSS(Index):
    def index(self, k):
        rewards = self.rewards(k)
        n = len(rewards)
        bonus = max(0.0, log(self.horizon / (self.arms * n)))
        return fsum(rewards) / n + self.scale * sqrt(bonus / n)


class AnytimeMOSS(MOSS):
    def index(self, k):
        self.horizon, self.scale = self.t, 2.0 * self.sigma * sqrt((1.0 + self.alpha) / 2.0)
        return super().index(k)


def spread(rewards):
    """The sum of squared distances from the mean."""
    mean = fsum(rewards) / len(rewards)
    return fsum((x - mean) ** 2 for x in rewards)


class UCBV(Index):
    def index(self, k):
        rewards = self.rewards(k)
        n = len(rewards)
        level = self.zeta * log(self.t) / n
        bonus = sqrt(2.0 * spread(rewards) / n * level) + 3.0 * self.c * self.range * level
        return fsum(rewards) / n + bonus


class UCBTuned(Index):
    def index(self, k):
        rewards = self.rewards(k)
        n = len(rewards)
        variance = spread(rewards) / n + self.range**2 * sqrt(2.0 * log(self.t) / n)
        return fsum(rewards) / n + sqrt(log(self.t) / n * min(self.range**2 / 4.0, variance))


class POKER(Index):
    """The paper's box, after two pulls of every arm."""

    def plan(self):
        if len(self.pulled) == self.arms:
            again = list(range(self.arms))
            self.stream.shuffle(again)
            return again
        return super().plan()

    def index(self, k):
        rewards = [self.rewards(j) for j in range(self.arms)]
        means = [fsum(xs) / len(xs) for xs in rewards]
        sigmas = [sqrt(spread(xs) / (len(xs) - 1)) for xs in rewards]
        known = [sigma for sigma in sigmas if sigma > 0.0]
        if not known:
            return means[k]
        sigma = sigmas[k] or fsum(known) / len(known)
        ordered = sorted(means, reverse=True)
        delta = (ordered[0] - ordered[ceil(sqrt(self.arms)) - 1]) / sqrt(self.arms)
        z = (ordered[0] + delta - means[k]) / (sigma / sqrt(len(rewards[k])))
        left = max(0, self.horizon - self.t)
        return means[k] + delta * left * erfc(z / ROOT_2) / 2.0

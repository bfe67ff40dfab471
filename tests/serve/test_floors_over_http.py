"""Traffic floors over HTTP: at the beginning, later, for single arms, in segments."""

BUTTON = "/v1/bandits/button"


def floors(shop, path=BUTTON):
    return {arm["label"]: arm["floor"] for arm in shop.get(path).json["arms"]}


def test_floors_are_set_and_taken_away(shop):
    before = shop.get(BUTTON).headers["etag"]
    assert shop.post(f"{BUTTON}/decisions").json["probability"] is None
    changed = shop.patch(BUTTON, {"floor": 0.1}, headers={"If-Match": before})
    assert changed.status == 200
    assert changed.headers["etag"] != before
    assert changed.json["floor"] == 0.1
    assert floors(shop) == {"red": 0.1, "green": 0.1, "blue": 0.1}
    assert shop.post(f"{BUTTON}/decisions").json["probability"] > 0.09
    assert shop.patch(BUTTON, {"floor": {"red": 0.25}}).json["floor"] is None
    assert floors(shop) == {"red": 0.25, "green": None, "blue": None}
    assert shop.patch(f"{BUTTON}/arms/blue", {"floor": 0.5}).status == 200
    assert floors(shop) == {"red": 0.25, "green": None, "blue": 0.5}
    shop.patch(BUTTON, {"description": "of a page"})  # what is left out stays
    assert floors(shop) == {"red": 0.25, "green": None, "blue": 0.5}
    shop.patch(BUTTON, {"floor": None})
    assert shop.post(f"{BUTTON}/decisions").json["probability"] is None


def test_a_new_arm_may_have_a_floor(shop):
    shop.patch(BUTTON, {"floor": {"red": 0.6}})
    assert shop.post(f"{BUTTON}/arms", {"label": "gold", "floor": 0.25}).status == 201
    assert floors(shop) == {"red": 0.6, "green": None, "blue": None, "gold": 0.25}
    assert shop.patch(f"{BUTTON}/arms/red", {"floor": None}).status == 200
    assert floors(shop) == {"red": None, "green": None, "blue": None, "gold": 0.25}


def test_segments_have_them_too(service, shop):
    decide = f"{BUTTON}/decisions"
    shop.post(decide, {"segment": "de"})
    shop.patch(BUTTON, {"floor": 0.2})
    assert floors(shop, f"{BUTTON}%40de")["red"] == 0.2
    assert shop.post(decide, {"segment": "de"}).json["probability"] > 0.19
    shop.post(decide, {"segment": "fr"})  # made after the change
    assert floors(shop, f"{BUTTON}%40fr")["green"] == 0.2
    # As after a crash between the two writes: whoever opens them brings them together.
    shop.state.host.bandits["button@de"].bandit.set_floors(None)
    shop.close()
    assert floors(service(), f"{BUTTON}%40de")["red"] == 0.2


def test_single_arms_by_text(service):
    shop = service()
    new = {"name": "b", "policy": "LBSDAGM", "arms": [1, 2, "x"], "floor": {"1": 0.1, "x": 0.2}}
    assert shop.post("/v1/bandits", new).status == 201
    assert floors(shop, "/v1/bandits/b") == {1: 0.1, 2: None, "x": 0.2}

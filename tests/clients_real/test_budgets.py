"""A budget in US dollars stops a session of a real client before it has cost a fifth more."""

from tests.clients_real.lab import Lab, wait, working

DOLLARS = 0.05  # of an answer of the scripted model, which comes to 1,240 tokens
PRICE = f"{DOLLARS / 1240 * 1e6:.6f}"
MODELS = {"codex": "gpt-5.5", "gemini": "gemini-2.5-flash"}


def test_budget_of_half_a_dollar_stops_before_sixty_cents(lab: Lab, client: str) -> None:
    model = MODELS.get(client, "scripted")
    price = f"prices: {{{model}: {{input: {PRICE}, output: {PRICE}}}}}"
    lab.set_up(client, rules=f"budgets: {{session: {{cost: 0.5}}}}\n{price}\n")
    agent = lab.start(client, [working("a", number) for number in range(14)], ANTHROPIC_MODEL="scripted")
    wait(lambda: lab.sessions().get(agent.session, {}).get("session_status") == "STOPPED", "it is stopped")
    wait(lambda: lab.is_held(agent), "its next call is held")
    spent, row = len(agent.requests) * DOLLARS, lab.sessions()[agent.session]
    print(f"{client}: stopped after {lab.ran('a')} calls, which cost {spent:.2f} dollars, {row['cost']:.2f} by liza")
    assert row["session_status"] == "STOPPED"
    assert "budgets.session.cost" in row["reason"]
    assert 0.49 < row["cost"] < 0.6
    assert spent < 0.6

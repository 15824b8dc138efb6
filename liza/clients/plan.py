"""What an installation would change in a client's settings: the hook, and if asked liza's tools."""

from liza.clients.install import Edit, read_settings, settings_file, with_hook, without_hook
from liza.clients.mcp_servers import servers_file, with_server, without_server


def plan_install(client: str, where: str, project: str, *, tools: bool) -> list[Edit]:
    """The settings with our hook, and if asked with our tools; both may be in one file."""
    hook, server = settings_file(client, where, project), servers_file(client, where, project)
    edits = {hook: _begin(hook)}
    edits[hook] = edits[hook]._replace(after=with_hook(client, where, edits[hook].before, hook))
    if tools:
        edit = edits.get(server) or _begin(server)
        edits[server] = edit._replace(after=with_server(client, edit.after, server))
    return list(edits.values())


def plan_uninstall(client: str, where: str, project: str) -> list[Edit]:
    """The settings without both, in the opposite order."""
    hook, server = settings_file(client, where, project), servers_file(client, where, project)
    edits = {hook: _begin(hook)}
    edit = edits.get(server) or _begin(server)
    edits[server] = edit._replace(after=without_server(client, edit.after, server))
    edits[hook] = without_hook(client, edits[hook])
    return list(edits.values())


def _begin(file: str) -> Edit:
    text = read_settings(file)
    return Edit(file, text, text)

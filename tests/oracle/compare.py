"""Compares a prediction with the image that was really built.

Each fact is `right`, `unknown` (imagelint leaves it open) or `wrong` (certain, and the image differs). A Dockerfile has the
worst class of its facts; it is unknown if torch or the environment is.
"""
import re

# The environment of the base image.
BASE_ENV = {"PATH": "/usr/local/bin:/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8", "PYTHON_VERSION": "3.11.2"}
# The environment of its Python.
BASE_PREFIX = "/usr/local"


def compare(said, real, requires):
    """A list of `(fact, class, kind, predicted, real)`; `requires` is what each distribution of the index requires."""
    if "error" in said:
        return [("input", "wrong", "refused", said["error"], "builds")]
    return [*torch(said, real), *packages(said, real, requires), *system(said, real), *environment(said, real), *start(said, real), *files(said, real)]


def row(fact, predicted, real, kind="differs"):
    return (fact, "right" if predicted == real else "wrong", kind, predicted, real)


def unknown(fact, real):
    return (fact, "unknown", "unknown", None, real)


def torch(said, real):
    """The torch that the program's Python imports; if it has none, the only one of the image."""
    facts, main = said["facts"], real["main"]
    # The version of the module: after a COPY of another site-packages there may be metadata of two.
    imported = main["torch"] if main else None
    there, cuda_there = (imported, main["cuda"]) if imported else (None, None)
    if not there and len(set(map(tuple, real["torches"].values()))) == 1:
        there, cuda_there = next(iter(real["torches"].values()))
    version, cuda = facts.get("torch.version"), facts.get("torch.cuda")
    if version is None or version["state"] == "absent":
        # No word about torch, and a certain verdict: the program takes it that there is none.
        if said["unknown"]:
            yield unknown("torch", imported)
        else:
            yield row("torch", None, imported, "false absence")
        return
    if version["state"] == "unknown":
        yield unknown("torch", there)
        return
    if there is None:
        yield ("torch", "wrong", "false presence", version["value"], None)
        return
    value = version["value"]
    yield row("torch.version", value, there if "+" in value else there.split("+")[0])
    if cuda and cuda["state"] == "known":
        yield row("torch.cuda", cuda["value"], cuda_there)
    elif cuda and cuda["state"] == "absent":
        yield row("torch.cuda", "cpu", cuda_there)
    else:
        yield unknown("torch.cuda", cuda_there)


def packages(said, real, requires):
    """Each distribution that the description lists: in an environment of its install, with the version if it has one.

    An install is either apart from the base, or in an environment that sees the base or that the image's Python uses. torch is left
    to its facts there: the description lists what each command installs, and a later one may replace it.
    """
    described = said["description"].get("packages", {})
    listed, done = described.get("pip", {}), set()
    # The last command that removed a package: what it installed before is history.
    gone = {}
    for entry in described.get("gone", []):
        if entry["manager"] == "pip":
            gone[normal(entry["name"])] = max(entry["command"], gone.get(normal(entry["name"]), 0))
    upgrades = max([0, *described.get("renewing", []), *described.get("reinstalling", [])])
    installs = {}
    for name, apart in said["installs"]:
        installs.setdefault(normal(name), []).append(apart)
    for name, entries in listed.items():
        key = normal(name)
        entries = entries if isinstance(entries, list) else [entries]
        entries = [e for e in entries if not isinstance(e, dict) or not 0 < e.get("command", 0) <= gone.get(key, 0)]
        if not entries or key not in installs:
            continue
        # A list is the history of the commands; the last one of each environment is what stays. One entry is the last one.
        history = list(zip(installs[key][-len(entries):], entries))
        for apart, entry in dict(history).items():
            fact = fact_of(key, apart)
            done.add(fact)
            views = [e for e in real["pythons"].values() if may_hold(e, apart)]
            if key == "torch" and any(e["main"] for e in views):
                continue
            # An install that is not said to be apart may be in the same environment, and come later.
            later = apart and not history[-1][0] and any(e["apart"] and e["main"] for e in views)
            entry = entry if isinstance(entry, dict) else {"version": entry}
            # A later command that upgrades dependencies may have replaced the version.
            upgraded = entry.get("command", upgrades) < upgrades
            yield listed_package(fact, entry, key, views, real, key == "torch" or later or upgraded)
    for entry in said["description"].get("packages", {}).get("gone", []):
        key = normal(entry["name"])
        # torch is left to its facts: a later package may have required it again.
        if entry["manager"] == "pip" and key != "torch" and key not in {normal(n) for n in listed} and real["main"]:
            done.add(fact_of(key, False))
            there = real["main"]["packages"].get(key, {}).get("versions")
            yield row(fact_of(key, False), None, there and ", ".join(there), "false absence")
    for prefix, environment in real["pythons"].items():
        yield from unlisted(said, real, requires, prefix, environment, done)


def normal(name):
    """The normalized name of a distribution."""
    return re.sub(r"[-_.]+", "-", name).lower()


def fact_of(key, apart):
    return f"package.{key}@apart" if apart else f"package.{key}"


def may_hold(environment, apart):
    """Whether an install is in this environment, by what is said of it."""
    return environment["apart"] if apart else environment["main"] or not environment["apart"]


def listed_package(fact, entry, key, views, real, any_version):
    found = sorted({version for v in views if key in v["packages"] for version in v["packages"][key]["versions"]})
    version = entry.get("version", "*")
    if "conditional" in entry or "unknown" in entry:
        return unknown(fact, found)
    if not found:
        elsewhere = sorted({p for p, e in real["pythons"].items() if key in e["packages"]} | {f for f, e in real["folders"].items() if key in e})
        return (fact, "wrong", "other environment" if elsewhere else "false presence", version, ", ".join(elsewhere) or None)
    if not any_version and re.fullmatch(r"\d[\w.]*(\+[\w.]+)?", version):
        shown = found if "+" in version else sorted({v.split("+")[0] for v in found})
        return (fact, "right" if version in shown else "wrong", "version", version, ", ".join(shown))
    return (fact, "right", "present", version, ", ".join(found))


def closure(start, following):
    """What the names of `start` come to."""
    found, left = set(), list(start)
    while left:
        key = left.pop()
        if key not in found:
            found.add(key)
            left += following(key)
    return found


def unlisted(said, real, requires, prefix, environment, done):
    """The distributions of an environment that no install names and no named one requires: none, if the list is complete."""
    apart = environment["apart"]
    # The environment that a distribution belongs to: a Python also sees that of the base, or what PYTHONPATH adds.
    prefixes = [p for p in real["pythons"] if p != BASE_PREFIX]
    owner = lambda package: next((p for p in prefixes if package["folder"].startswith(f"{p}/")), BASE_PREFIX)
    found = {k: p for k, p in environment["packages"].items() if owner(p) == prefix and p["versions"] != [real["base"]["packages"].get(k)]}
    # imagelint lists what a project requires, not the project, which no index has.
    found = {k: p for k, p in found.items() if k in requires}
    if not found:
        return
    graph = {k: {normal(re.match(r"[\w.-]+", r)[0]) for r in p["requires"] if "extra ==" not in r} for k, p in found.items()}
    named = {normal(n) for n, s in said["installs"] if may_hold(environment, s)}
    # What a removed one required stays.
    orphans = {r for n in said["removed"] for r in requires.get(normal(n), ())}
    # A note names what the program does not see.
    unseen = () if environment["main"] else map(normal, said["unchecked"])
    # What other versions required counts too: it stays when a package is replaced.
    explained = closure([*named, *unseen, *orphans], lambda key: graph.get(key, set()) | requires.get(key, set()))
    extra = found.keys() - explained
    # Dependencies of one of them are no separate difference, and torch has its own facts.
    extra -= {k for key in extra for k in closure(graph[key], lambda key: graph.get(key, set())) if k != key}
    extra -= {k for k in extra if fact_of(k, apart) in done or k == "torch" and environment["main"]}
    extra = {k: ", ".join(found[k]["versions"]) for k in sorted(extra)}
    if said["open"]:
        yield unknown(f"packages {prefix}", extra)
    elif not extra:
        yield (f"packages {prefix}", "right", "complete", {}, {})
    else:
        for key, version in extra.items():
            yield (fact_of(key, apart), "wrong", "false absence", None, version)


def system(said, real):
    listed = said["description"].get("packages", {}).get("apt", {})
    for name, entry in listed.items():
        if isinstance(entry, dict) and "conditional" in entry:
            yield unknown(f"system.{name}", name in real["system"])
        else:
            yield row(f"system.{name}", True, name in real["system"], "false presence")
    extra = sorted(set(real["system"]) - set(real["base"]["system"]) - {n.split(":")[0] for n in listed})
    if said["open"]:
        yield unknown("systems", extra)
    elif not extra:
        yield ("systems", "right", "complete", [], [])
    for name in extra if not said["open"] else ():
        yield (f"system.{name}", "wrong", "false absence", None, name)


def environment(said, real):
    description, env = said["description"], real["env"]
    predicted = dict(description.get("env", {}))
    for name, value in description.get("env_on_base", {}).items():
        if isinstance(value, dict):
            # `set` stands if the variable that it extends is set below.
            value = value["set"] if all(n in BASE_ENV for n in re.findall(r"\$\{(\w+)\}", value["set"])) else value["unset"]
        if isinstance(value, str):
            predicted[name] = re.sub(r"\$\{(\w+)\}", lambda m: BASE_ENV.get(m[1], ""), value).replace("$$", "$")
    open_ = set(description.get("env_unknown", {}))
    for name, value in predicted.items():
        if isinstance(value, str):
            yield row(f"env.{name}", value, env.get(name))
    for name in open_:
        yield unknown(f"env.{name}", env.get(name))
    complete = said["facts"].get("env.*", {}).get("state") == "absent"
    for name in sorted(env.keys() - predicted.keys() - open_):
        if env[name] == BASE_ENV.get(name):
            continue
        if complete:
            yield (f"env.{name}", "wrong", "false absence", None, env[name])
        else:
            yield unknown(f"env.{name}", env[name])


def start(said, real):
    for fact, key in (("image.entrypoint", "entrypoint"), ("image.command", "command")):
        got = said["facts"].get(fact)
        if got and got["state"] == "known":
            # The shell form is predicted in words. Which shell is left out: buildah ignores SHELL for CMD.
            yield row(fact, words(got["value"]), words(real[key] or []))
        elif got and got["state"] == "absent":
            yield row(fact, [], real[key] or [], "false absence")
        elif got:
            yield unknown(fact, real[key])


def words(command):
    """The words of a command, without the shell of the shell form."""
    if "-c" in command and command[0].endswith("sh"):
        return " ".join(command[command.index("-c") + 1:]).split()
    return command


def files(said, real):
    """The loader's configuration, driver libraries, and the files that the description lists."""
    conf = said["facts"].get("image.ld_conf")
    if conf and conf["state"] == "known":
        predicted = {}
        for line in conf["value"]:
            name, _, folders = line.partition(": ")
            predicted.setdefault(name, set()).update(folders.split())
        # Debian lists /lib and /usr/lib; they are one folder.
        found = {n: {d for d in folders if not d.startswith("/lib/")} for n, folders in real["ld_conf"].items()}
        yield row("image.ld_conf", shown(predicted), shown(found))
    elif conf:
        yield unknown("image.ld_conf", None)
    drivers = [f for f in real["libcuda"] if "/compat/" not in f]
    compat = [f for f in real["libcuda"] if "/compat/" in f]
    for fact, found in (("image.driver_libraries", drivers), ("image.compat", compat)):
        got = said["facts"].get(fact)
        if got and got["state"] == "absent":
            yield row(fact, [], found, "false absence")
        elif got and got["state"] == "known":
            yield row(fact, True, bool(found), "false presence")
        elif got:
            yield unknown(fact, found)
    for path, entry in said["description"].get("files", {}).items():
        if isinstance(entry, dict) and "text" in entry:
            yield row(f"file.{path}", entry["text"], real["files"].get(path))


def shown(conf):
    return "; ".join(f"{name}: {' '.join(sorted(folders))}" for name, folders in sorted(conf.items()))


def worst(rows):
    """The class of a Dockerfile."""
    classes = {r[1] for r in rows}
    if "wrong" in classes:
        return "wrong"
    return "unknown" if any(r[1] == "unknown" and r[0].startswith(("torch", "env.", "image.e", "image.c")) for r in rows) else "right"

"""Compares a prediction with the image that was really built.

Each fact is `right`, `unknown` (imagelint leaves it open) or `wrong` (certain, and the image differs). A Dockerfile has the
worst class of its facts; it is unknown if torch or the environment is.
"""
import re

# The environment of the base image.
BASE_ENV = {"PATH": "/usr/local/bin:/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8", "PYTHON_VERSION": "3.11.2"}


def compare(said, real):
    """A list of `(fact, class, kind, predicted, real)`."""
    if "error" in said:
        return [("input", "wrong", "refused", said["error"], "builds")]
    return [*torch(said, real), *packages(said, real), *system(said, real), *environment(said, real), *start(said, real), *files(said, real)]


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


def packages(said, real):
    """Each distribution that the description lists: in some environment of the image, with the version if it has one.

    torch is left to its facts: the description lists what each command installs, and a later one may replace it.
    """
    listed = said["description"].get("packages", {}).get("pip", {})
    everywhere = list(real["environments"].values()) + ([real["main"]["packages"]] if real["main"] else [])
    for name, entries in listed.items():
        key = re.sub(r"[-_.]+", "-", name).lower()
        if key == "torch":
            continue
        # A list is the history of the commands; the last one is what stays.
        for entry in entries[-1:] if isinstance(entries, list) else [entries]:
            entry = entry if isinstance(entry, dict) else {"version": entry}
            fact = f"package.{key}"
            found = sorted({env[key] for env in everywhere if key in env})
            if "conditional" in entry or "unknown" in entry:
                yield unknown(fact, found)
                continue
            if not found:
                yield (fact, "wrong", "false presence", entry.get("version", "*"), None)
                continue
            version = entry.get("version", "*")
            if re.fullmatch(r"\d[\w.]*(\+[\w.]+)?", version):
                shown = found if "+" in version else sorted({v.split("+")[0] for v in found})
                yield (fact, "right" if version in shown else "wrong", "version", version, ", ".join(shown))
            else:
                yield (fact, "right", "present", version, ", ".join(found))
    for entry in said["description"].get("packages", {}).get("gone", []):
        key = re.sub(r"[-_.]+", "-", entry["name"]).lower()
        if entry["manager"] == "pip" and key not in {re.sub(r"[-_.]+", "-", n).lower() for n in listed} and real["main"]:
            yield row(f"package.{key}", None, real["main"]["packages"].get(key), "false absence")


def system(said, real):
    for name, entry in said["description"].get("packages", {}).get("apt", {}).items():
        if isinstance(entry, dict) and "conditional" in entry:
            yield unknown(f"system.{name}", name in real["system"])
        else:
            yield row(f"system.{name}", True, name in real["system"], "false presence")


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
    drivers = [f for f in real["libcuda"] if "/compat/" not in f and "/stubs/" not in f]
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

"""What imagelint predicts of a Dockerfile: its facts and its description of the image, in the words of `compare`."""
import json, pathlib, re, subprocess

FLEET = '[[pool]]\nname = "a100"\ngpu = "A100"\ndriver = "550.54.15"\nlaunch = "docker-gpus"\ntoolkit = "1.17.8"\n'


def predict(program, folder, scratch, arguments=()):
    """The facts by key, the description, and whether the verdict is unknown; or an `error` in words."""
    fleet = pathlib.Path(scratch, "fleet.toml")
    fleet.write_text(FLEET)
    done = subprocess.run([program, "check", "--format", "json", "--no-config", "--fleet", fleet, *arguments, "Dockerfile"],
                          cwd=folder, capture_output=True, text=True, timeout=60)
    try:
        report = json.loads(done.stdout)
    except ValueError:
        return {"error": (done.stderr or done.stdout)[-300:]}
    if not report["subjects"]:
        return {"error": json.dumps(report["errors"])[:300]}
    subject = report["subjects"][0]
    description, notes = subject["description"] or {}, subject["inspected"]["notes"]
    seen = (subject["observed"] or {}).get("platforms", [{}])[0].get("seen", {})
    return {
        "facts": {f["key"]: {"state": f["state"], "value": f["value"], "why": f["why"]} for f in subject["facts"]},
        "description": description,
        "unknown": any(v["fate"] == "undetermined" for v in subject["verdicts"]),
        "notes": notes,
        # Each install of a distribution, in the order of the commands: whether its environment is separate from the base.
        # The description says so only of those whose order matters.
        "installs": [(p["name"], "environment" in p) for p in seen.get("packages", []) if p["manager"] == "pip"],
        "removed": removed_names(folder),
        # Left out, which a note says.
        "unchecked": sorted({m[1] for n in notes if (m := re.match(r"(\S+) is installed in .* and is not checked$", n))}),
        "open": open_reasons(subject, description, seen),
    }


def removed_names(folder):
    """The names behind `uninstall` in the Dockerfile and its context, in whatever stage."""
    texts = [f.read_text() for f in pathlib.Path(folder).rglob("*") if f.is_file()]
    words = [w for text in texts for rest in re.findall(r"\buninstall\b([^&;|\n]*)", text) for w in rest.split()]
    return sorted({w for w in words if re.fullmatch(r"\w[\w.-]*", w)})


def open_reasons(subject, description, seen):
    """Why there may be more packages than the listed ones; empty if the list claims to be complete."""
    packages = description.get("packages", {})
    reasons = [key for key in ("unread", "unknown_wheels", "by_driver", "other_python") if packages.get(key)]
    reasons += [key for key in ("base_unknown", "copies_unread_images") if description.get(key)]
    # Commands that may install more. The description has their numbers only where they matter for torch.
    reasons += ["untold"] if seen.get("of_base", {}).get("untold") else []
    reasons += [f["key"] for f in subject["facts"] if f["key"] == "requirements.*" and f["state"] == "unknown"]
    reasons += [n for n in subject["inspected"]["notes"] if "unknown packages" in n or "was not read" in n]
    return reasons

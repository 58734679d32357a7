"""What imagelint predicts of a Dockerfile: its facts and its description of the image, in the words of `compare`."""
import json, pathlib, subprocess

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
    return {
        "facts": {f["key"]: {"state": f["state"], "value": f["value"], "why": f["why"]} for f in subject["facts"]},
        "description": subject["description"] or {},
        "unknown": any(v["fate"] == "undetermined" for v in subject["verdicts"]),
        "notes": subject["inspected"]["notes"],
    }

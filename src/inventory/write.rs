//! Pools as a fleet file: what is known as fields, what is not as questions in comments.

use std::fmt::Write as _;

use crate::cuda::CudaVersion;
use crate::fleet::Launch;
use crate::inventory::Build;
use crate::inventory::Draft;
use crate::inventory::Gpu;
use crate::inventory::Inventory;
use crate::inventory::placed::called;
use crate::knowledge::Knowledge;

/// The widest line of a comment.
const WIDTH: usize = 118;

/// A fleet file of these pools, with the command that writes it and, if they are wanted, the names of the machines.
pub fn to_toml(
    command: &str,
    drafts: &[Draft],
    inventory: &Inventory,
    sources: &[String],
    names: bool,
    knowledge: Knowledge,
) -> String {
    let mut text = String::new();
    comment(&mut text, &format!("Written by imagelint {command} from {}.", sources.join(", ")));
    comment(
        &mut text,
        "Lines that start with `# ?` are properties that the source does not contain; they are unknown until you \
         declare them.",
    );
    if let Some(told) = inventory.told_left_out() {
        comment(&mut text, &format!("Skipped: {told}."));
    }
    for note in &inventory.notes {
        comment(&mut text, note);
    }
    for draft in drafts {
        text.push('\n');
        pool(&mut text, draft, names, knowledge);
    }
    text
}

/// A comment of one line; what would break it out of its line is a blank.
fn comment(text: &mut String, words: &str) {
    let plain: String = words.chars().map(|sign| if sign.is_control() { ' ' } else { sign }).collect();
    let _ = writeln!(text, "# {plain}");
}

fn field(text: &mut String, key: &str, value: impl std::fmt::Display) {
    let _ = writeln!(text, "{key} = {value}");
}

fn ask(text: &mut String, example: &str, question: &str) {
    let _ = writeln!(text, "# ? {example:<36} # {question}");
}

/// A basic string of TOML.
fn quoted(text: &str) -> String {
    toml::Value::String(text.chars().map(|sign| if sign.is_control() { ' ' } else { sign }).collect()).to_string()
}

fn pool(text: &mut String, draft: &Draft, names: bool, knowledge: Knowledge) {
    let build = &draft.build;
    for note in &build.notes {
        comment(text, note);
    }
    if names {
        let mut line = String::from("nodes:");
        for name in &draft.machines {
            if line.len() + name.len() > WIDTH {
                comment(text, &std::mem::take(&mut line));
            }
            line.push(' ');
            line.push_str(name);
        }
        comment(text, &line);
    }
    let _ = writeln!(text, "[[pool]]");
    field(text, "name", quoted(&draft.name));
    match draft.nodes {
        Some(nodes) => field(text, "nodes", nodes),
        None => ask(text, "nodes = 1", "the number of nodes"),
    }
    gpus(text, build, knowledge);
    driver(text, build, knowledge);
    match build
        .platform
        .as_deref()
        .filter(|platform| matches!(*platform, "linux/amd64" | "linux/arm64" | "linux/ppc64le"))
    {
        Some(platform) => field(text, "platform", quoted(platform)),
        None => ask(text, "platform = \"linux/amd64\"", "platform of the nodes; the default follows from the GPU"),
    }
    launch(text, build);
    ask(text, "toolkit = \"1.17.8\"", "NVIDIA Container Toolkit: nvidia-ctk --version on a node");
    ask(text, "mode = \"legacy\"", "only if nvidia-container-runtime.mode in config.toml is not \"auto\"");
    let strategy = "of the device plugin: volume-mounts cdi-annotations cdi-cri";
    if build.launch == Some(Launch::Kubernetes) {
        ask(text, "device_list_strategy = \"envvar\"", strategy);
    } else {
        ask(text, "runtime = \"nvidia\"", "docker info: the default runtime, or that of `docker run --runtime`");
    }
    engine(text, draft);
    if build.wsl {
        field(text, "wsl", true);
    }
    if !build.labels.is_empty() {
        let _ = writeln!(text, "[pool.labels]");
        for (name, value) in &build.labels {
            field(text, &quoted(name), quoted(value));
        }
    }
}

fn engine(text: &mut String, draft: &Draft) {
    let well = |engine: &&String| {
        let mut words = engine.split(' ');
        let version = words.nth(1).is_some_and(|version| version.starts_with(|sign: char| sign.is_ascii_digit()));
        version && words.next().is_none()
    };
    match draft.engines.iter().filter(well).collect::<Vec<_>>().as_slice() {
        [] => ask(text, "engine = \"docker 28.2\"", "the container engine and its version"),
        [engine] => field(text, "engine", quoted(engine)),
        several => {
            let list: Vec<String> = several.iter().map(|engine| quoted(engine)).collect();
            ask(text, "engine = \"docker 28.2\"", &format!("the nodes have {}", list.join(", ")));
        }
    }
}

fn launch(text: &mut String, build: &Build) {
    match build.launch {
        Some(launch) => field(text, "launch", quoted(launch.as_str())),
        None if build.labels.is_empty() => {
            ask(text, "launch = \"docker-gpus\"", &format!("launch method: {}", Launch::WORDS.join(" ")));
        }
        None => ask(text, "launch = \"gke\"", "gke: the device plugin of GKE; kubernetes: that of NVIDIA"),
    }
}

fn driver(text: &mut String, build: &Build, knowledge: Knowledge) {
    let Some(driver) = build.driver else {
        ask(text, "driver = \"550.163.01\"", "run nvidia-smi on a node");
        return cuda(text, build.cuda);
    };
    field(text, "driver", quoted(&driver.to_string()));
    let known = knowledge.driver_cuda(driver).map(|(cuda, _)| cuda);
    match (known, build.cuda) {
        (None, own) => cuda(text, own),
        (Some(known), Some(own)) if own.release() != known.release() => comment(
            text,
            &format!(
                "the source specifies CUDA {own}, but driver {driver} supports CUDA {known}: possibly from a \
                 cuda-compat package"
            ),
        ),
        (Some(_), _) => {}
    }
}

fn cuda(text: &mut String, cuda: Option<CudaVersion>) {
    if let Some(cuda) = cuda {
        field(text, "driver_cuda", quoted(&cuda.to_string()));
    }
}

fn gpus(text: &mut String, build: &Build, knowledge: Knowledge) {
    let known: Vec<String> = build.gpus.iter().filter_map(|gpu| one(gpu, knowledge)).collect();
    let unknown = build.gpus.iter().filter(|gpu| one(gpu, knowledge).is_none());
    for gpu in unknown.clone().filter(|gpu| !gpu.name.is_empty()) {
        comment(
            text,
            &format!("GPU {}: not in the compatibility database, and its compute capability is unknown", gpu.name),
        );
    }
    // A list is what a node may have any one of; one that lacks a GPU would deny it.
    if known.is_empty() || unknown.count() > 0 {
        let capability = build.gpus.iter().find_map(|gpu| gpu.capability).filter(|_| build.gpus.len() == 1);
        ask(text, "gpu = { name = \"A100\", count = 8 }", "run nvidia-smi -L on a node");
        if let Some(capability) = capability {
            field(text, "compute_capability", quoted(&capability.to_string()));
        }
        return;
    }
    match known.as_slice() {
        [one] => field(text, "gpu", one),
        several => field(text, "gpu", format!("[{}]", several.join(", "))),
    }
}

/// Whether a fleet file can say which GPU it is.
pub(super) fn is_written(gpu: &Gpu, knowledge: Knowledge) -> bool {
    one(gpu, knowledge).is_some()
}

/// A GPU as a fleet file writes it; none where it could not be read back.
fn one(gpu: &Gpu, knowledge: Knowledge) -> Option<String> {
    let row = knowledge.gpu(&gpu.name).filter(|_| !gpu.name.is_empty());
    let name = quoted(called(gpu, knowledge));
    let mut fields = vec![format!("name = {name}")];
    if let Some(count) = gpu.count {
        fields.push(format!("count = {count}"));
    }
    match gpu.parts.only() {
        Some(profile) => fields.push(format!("mig = {}", quoted(profile))),
        None if gpu.parts.is_mig() => fields.push("mig = true".to_owned()),
        None => {}
    }
    let own = gpu.capability.filter(|own| row.is_none_or(|row| row.capability != *own));
    if gpu.name.is_empty() || (row.is_none() && own.is_none()) {
        return None;
    }
    if let Some(own) = own {
        fields.push(format!("compute_capability = {}", quoted(&own.to_string())));
    }
    Some(if fields.len() == 1 { name } else { format!("{{ {} }}", fields.join(", ")) })
}

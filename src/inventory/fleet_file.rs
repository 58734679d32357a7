//! Writes pools as a fleet file: known properties as fields, unknown ones as questions in comments.

use std::fmt::Write as _;

use crate::cuda::CudaVersion;
use crate::fleet::Launch;
use crate::inventory::pool_matching::gpu_display_name;
use crate::inventory::{Inventory, MachineConfig, MachineGpu, PoolDraft};
use crate::knowledge::Knowledge;

/// The largest width of a comment line.
const MAX_COMMENT_WIDTH: usize = 118;

/// Returns a fleet file of these pools with the command that wrote it and, if `names` is set, the names of the
/// machines.
pub fn fleet_file_toml(
    command: &str,
    drafts: &[PoolDraft],
    inventory: &Inventory,
    sources: &[String],
    names: bool,
    knowledge: Knowledge,
) -> String {
    let mut text = String::new();
    write_comment(&mut text, &format!("Written by imagelint {command} from {}.", sources.join(", ")));
    write_comment(
        &mut text,
        "Lines that start with `# ?` are properties that the source does not contain; they are unknown until you \
         declare them.",
    );
    if let Some(told) = inventory.skipped_summary() {
        write_comment(&mut text, &format!("Skipped: {told}."));
    }
    for note in &inventory.notes {
        write_comment(&mut text, note);
    }
    for draft in drafts {
        text.push('\n');
        write_pool(&mut text, draft, names, knowledge);
    }
    text
}

/// Writes a comment line, with control characters replaced by blanks.
fn write_comment(text: &mut String, words: &str) {
    let plain: String = words.chars().map(|sign| if sign.is_control() { ' ' } else { sign }).collect();
    let _ = writeln!(text, "# {plain}");
}

/// Writes a field.
fn write_field(text: &mut String, key: &str, value: impl std::fmt::Display) {
    let _ = writeln!(text, "{key} = {value}");
}

/// Writes an example of an unknown field and a question as a comment.
fn write_question(text: &mut String, example: &str, question: &str) {
    let _ = writeln!(text, "# ? {example:<36} # {question}");
}

/// Returns a basic TOML string.
fn quote_toml(text: &str) -> String {
    toml::Value::String(text.chars().map(|sign| if sign.is_control() { ' ' } else { sign }).collect()).to_string()
}

/// Writes one pool.
fn write_pool(text: &mut String, draft: &PoolDraft, names: bool, knowledge: Knowledge) {
    let build = &draft.build;
    for note in &build.notes {
        write_comment(text, note);
    }
    if names {
        let mut line = String::from("nodes:");
        for name in &draft.machines {
            if line.len() + name.len() > MAX_COMMENT_WIDTH {
                write_comment(text, &std::mem::take(&mut line));
            }
            line.push(' ');
            line.push_str(name);
        }
        write_comment(text, &line);
    }
    let _ = writeln!(text, "[[pool]]");
    write_field(text, "name", quote_toml(&draft.name));
    match draft.nodes {
        Some(nodes) => write_field(text, "nodes", nodes),
        None => write_question(text, "nodes = 1", "the number of nodes"),
    }
    write_gpus(text, build, knowledge);
    write_driver(text, build, knowledge);
    match build
        .platform
        .as_deref()
        .filter(|platform| matches!(*platform, "linux/amd64" | "linux/arm64" | "linux/ppc64le"))
    {
        Some(platform) => write_field(text, "platform", quote_toml(platform)),
        None => write_question(
            text,
            "platform = \"linux/amd64\"",
            "platform of the nodes; the default follows from the GPU",
        ),
    }
    write_launch(text, build);
    write_question(text, "toolkit = \"1.17.8\"", "NVIDIA Container Toolkit: nvidia-ctk --version on a node");
    write_question(text, "mode = \"legacy\"", "only if nvidia-container-runtime.mode in config.toml is not \"auto\"");
    let strategy = "of the device plugin: volume-mounts cdi-annotations cdi-cri";
    if build.launch == Some(Launch::Kubernetes) {
        write_question(text, "device_list_strategy = \"envvar\"", strategy);
    } else {
        write_question(
            text,
            "runtime = \"nvidia\"",
            "docker info: the default runtime, or that of `docker run --runtime`",
        );
    }
    write_engine(text, draft);
    if build.wsl {
        write_field(text, "wsl", true);
    }
    if !build.labels.is_empty() {
        let _ = writeln!(text, "[pool.labels]");
        for (name, value) in &build.labels {
            write_field(text, &quote_toml(name), quote_toml(value));
        }
    }
}

/// Writes the container engine, or a question if it is unknown or differs between nodes.
fn write_engine(text: &mut String, draft: &PoolDraft) {
    let well = |engine: &&String| {
        let mut words = engine.split(' ');
        let version = words.nth(1).is_some_and(|version| version.starts_with(|sign: char| sign.is_ascii_digit()));
        version && words.next().is_none()
    };
    match draft.engines.iter().filter(well).collect::<Vec<_>>().as_slice() {
        [] => write_question(text, "engine = \"docker 28.2\"", "the container engine and its version"),
        [engine] => write_field(text, "engine", quote_toml(engine)),
        several => {
            let list: Vec<String> = several.iter().map(|engine| quote_toml(engine)).collect();
            write_question(text, "engine = \"docker 28.2\"", &format!("the nodes have {}", list.join(", ")));
        }
    }
}

/// Writes the launch method, or a question if it is unknown.
fn write_launch(text: &mut String, build: &MachineConfig) {
    match build.launch {
        Some(launch) => write_field(text, "launch", quote_toml(launch.as_str())),
        None if build.labels.is_empty() => {
            write_question(text, "launch = \"docker-gpus\"", &format!("launch method: {}", Launch::WORDS.join(" ")));
        }
        None => write_question(text, "launch = \"gke\"", "gke: the device plugin of GKE; kubernetes: that of NVIDIA"),
    }
}

/// Writes the driver, or a question if it is unknown.
fn write_driver(text: &mut String, build: &MachineConfig, knowledge: Knowledge) {
    let Some(driver) = build.driver else {
        write_question(text, "driver = \"550.163.01\"", "run nvidia-smi on a node");
        return write_driver_cuda(text, build.cuda);
    };
    write_field(text, "driver", quote_toml(&driver.to_string()));
    let known = knowledge.driver_cuda(driver).map(|(cuda, _)| cuda);
    match (known, build.cuda) {
        (None, own) => write_driver_cuda(text, own),
        (Some(known), Some(own)) if own.release() != known.release() => write_comment(
            text,
            &format!(
                "the source specifies CUDA {own}, but driver {driver} supports CUDA {known}: possibly from a \
                 cuda-compat package"
            ),
        ),
        (Some(_), _) => {}
    }
}

/// Writes the CUDA version of the driver, if it is known.
fn write_driver_cuda(text: &mut String, cuda: Option<CudaVersion>) {
    if let Some(cuda) = cuda {
        write_field(text, "driver_cuda", quote_toml(&cuda.to_string()));
    }
}

/// Writes the GPUs, or a question if one of them is unknown.
fn write_gpus(text: &mut String, build: &MachineConfig, knowledge: Knowledge) {
    let known: Vec<String> = build.gpus.iter().filter_map(|gpu| gpu_toml(gpu, knowledge)).collect();
    let unknown = build.gpus.iter().filter(|gpu| gpu_toml(gpu, knowledge).is_none());
    for gpu in unknown.clone().filter(|gpu| !gpu.name.is_empty()) {
        write_comment(
            text,
            &format!("GPU {}: not in the compatibility database, and its compute capability is unknown", gpu.name),
        );
    }
    // A list is what a node may have any one of; one that lacks a GPU would deny it.
    if known.is_empty() || unknown.count() > 0 {
        let capability = build.gpus.iter().find_map(|gpu| gpu.capability).filter(|_| build.gpus.len() == 1);
        write_question(text, "gpu = { name = \"A100\", count = 8 }", "run nvidia-smi -L on a node");
        if let Some(capability) = capability {
            write_field(text, "compute_capability", quote_toml(&capability.to_string()));
        }
        return;
    }
    match known.as_slice() {
        [one] => write_field(text, "gpu", one),
        several => write_field(text, "gpu", format!("[{}]", several.join(", "))),
    }
}

/// Whether a fleet file can state which GPU it is.
pub(super) fn is_expressible(gpu: &MachineGpu, knowledge: Knowledge) -> bool {
    gpu_toml(gpu, knowledge).is_some()
}

/// Returns a GPU as written in a fleet file; `None` if it could not be read back.
fn gpu_toml(gpu: &MachineGpu, knowledge: Knowledge) -> Option<String> {
    let row = knowledge.gpu(&gpu.name).filter(|_| !gpu.name.is_empty());
    let name = quote_toml(gpu_display_name(gpu, knowledge));
    let mut fields = vec![format!("name = {name}")];
    if let Some(count) = gpu.count {
        fields.push(format!("count = {count}"));
    }
    match gpu.parts.single_profile() {
        Some(profile) => fields.push(format!("mig = {}", quote_toml(profile))),
        None if gpu.parts.is_mig() => fields.push("mig = true".to_owned()),
        None => {}
    }
    let own = gpu.capability.filter(|own| row.is_none_or(|row| row.capability != *own));
    if gpu.name.is_empty() || (row.is_none() && own.is_none()) {
        return None;
    }
    if let Some(own) = own {
        fields.push(format!("compute_capability = {}", quote_toml(&own.to_string())));
    }
    Some(if fields.len() == 1 { name } else { format!("{{ {} }}", fields.join(", ")) })
}

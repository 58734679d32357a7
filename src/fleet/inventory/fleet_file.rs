//! Writes pools as a fleet file: known properties as fields, unknown ones as questions in comments. Machines are
//! matched with declared pools by how well they fit, property by property.
//!
//! A pool that an import has written of a machine has every point that the machine can give; another pool has as many
//! only where it declares the same.

use std::fmt::Write as _;

use crate::cuda::CudaVersion;
use crate::fleet::inventory::kubernetes::{IDENTIFYING_LABELS, POOL_LABELS};
use crate::fleet::inventory::{GpuPartitioning, Inventory, InventoryMachine, MachineConfig, MachineGpu, PoolDraft};
use crate::fleet::{Declared, DriverSpec, Fleet, GpuSpec, Launch, Pool};
use crate::knowledge::{GpuNameMatch, Knowledge};
use crate::text::source::Span;

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
    if let Some(summary) = inventory.skipped_summary() {
        write_comment(&mut text, &format!("Skipped: {summary}."));
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
fn is_expressible(gpu: &MachineGpu, knowledge: Knowledge) -> bool {
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

/// How precisely a declared GPU name matches the name that a machine reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum GpuNameAgreement {
    /// It omits details that make no difference: A100 for NVIDIA-A100-SXM4-40GB.
    Wider,
    /// It names the same GPU.
    Same,
}

/// Compares a declared GPU name with a reported one; `None` if they name different GPUs.
fn match_gpu_name(declared: &str, own: &str, knowledge: Knowledge) -> Option<GpuNameAgreement> {
    // Labels have a dash where names have a blank.
    let sign = |sign: u8| if sign == b' ' { b'-' } else { sign.to_ascii_lowercase() };
    if declared.bytes().map(sign).eq(own.bytes().map(sign))
        || knowledge.compare_gpus(declared, own) == GpuNameMatch::Yes
    {
        return Some(GpuNameAgreement::Same);
    }
    knowledge.gpu_name_covers(declared, own).then_some(GpuNameAgreement::Wider)
}

/// Whether a declared name matches the GPU of a machine.
pub(super) fn is_same_gpu(declared: &str, own: &str, knowledge: Knowledge) -> bool {
    match_gpu_name(declared, own, knowledge).is_some()
}

/// Returns the name of a GPU in the tables, or the reported name if that is less or more specific.
fn gpu_display_name(gpu: &MachineGpu, knowledge: Knowledge) -> &str {
    let row = knowledge.gpu(&gpu.name);
    row.map(|row| row.name)
        .filter(|name| match_gpu_name(name, &gpu.name, knowledge) == Some(GpuNameAgreement::Same))
        .unwrap_or(&gpu.name)
}

/// Whether a declared driver matches a driver version.
pub(super) fn matches_driver(spec: &DriverSpec, driver: crate::cuda::DriverVersion) -> bool {
    match spec {
        DriverSpec::Exact(own) => *own == driver,
        DriverSpec::Branch(branch) => *branch == driver.branch(),
        DriverSpec::Range { from, before } => {
            from.is_none_or(|from| from <= driver) && before.is_none_or(|before| driver < before)
        }
    }
}

/// Returns the indexes of the declared pools that match a machine best: by pool label, else by GPU. Several if they
/// declare the same.
pub fn matching_pools(fleet: &Fleet, machine: &InventoryMachine, knowledge: Knowledge) -> Vec<usize> {
    let scored = fleet.pools.iter().enumerate();
    let scored: Vec<_> =
        scored.filter_map(|(at, pool)| Some((similarity_points(pool, machine, knowledge)?, at))).collect();
    let best = scored.iter().map(|(points, _)| *points).max();
    scored.into_iter().filter(|(points, _)| Some(*points) == best).map(|(_, at)| at).collect()
}

/// Returns the index of the pool for each machine. Equal pools are filled up to their declared numbers of nodes.
pub(super) fn assign_pools(fleet: &Fleet, machines: &[InventoryMachine], knowledge: Knowledge) -> Vec<Option<usize>> {
    let mut room: Vec<u32> =
        fleet.pools.iter().map(|pool| pool.nodes.as_ref().map_or(1, |nodes| nodes.value)).collect();
    let mut placed: Vec<_> = machines
        .iter()
        .enumerate()
        .map(|(at, machine)| (at, machine, matching_pools(fleet, machine, knowledge)))
        .collect();
    placed.sort_by_key(|(at, _, places)| (places.len() > 1, *at));
    let mut found: Vec<(usize, Option<usize>)> = Vec::with_capacity(machines.len());
    for (at, machine, places) in placed {
        let nodes = machine.nodes.unwrap_or(1);
        let with = |least: u32| places.iter().find(|pool| room.get(**pool).is_some_and(|room| *room >= least));
        let pool = with(nodes).or_else(|| with(1)).or(places.first()).copied();
        if let Some(room) = pool.and_then(|pool| room.get_mut(pool)) {
            *room = room.saturating_sub(nodes);
        }
        found.push((at, pool));
    }
    found.sort_unstable();
    found.into_iter().map(|(_, pool)| pool).collect()
}

/// Returns a pool with the GPUs, driver and platform of its machines, and all other fields as declared.
pub fn pool_as_observed(base: Option<&Pool>, name: String, build: &MachineConfig, knowledge: Knowledge) -> Pool {
    let span = Span::new(0, 0);
    let mut pool = base.cloned().unwrap_or_else(|| Pool::with_name(Declared { value: String::new(), span }));
    pool.name = Declared { value: name, span };
    let named = build.gpus.iter().filter(|gpu| !gpu.name.is_empty());
    let gpus: Vec<_> = named.map(|gpu| observed_gpu_spec(gpu, &pool.gpu, knowledge)).collect();
    if !gpus.is_empty() {
        // What is declared of another GPU does not hold for this one.
        if gpus.iter().any(|(_, declared)| !declared) {
            pool.compute_capability = None;
            pool.brand = None;
        }
        pool.gpu = gpus.into_iter().map(|(value, _)| Declared { value, span }).collect();
    }
    if let Some(driver) = build.driver {
        pool.driver = vec![Declared { value: DriverSpec::Exact(driver), span }];
        let known = knowledge.driver_branch(driver.branch()).is_some();
        pool.driver_cuda = build.cuda.filter(|_| !known).map(|value| Declared { value, span });
    }
    if let Some(platform) = &build.platform {
        pool.platform = Some(Declared { value: platform.clone(), span });
    }
    if pool.launch.is_none() {
        pool.launch = build.launch.map(|value| Declared { value, span });
    }
    pool
}

/// Returns a GPU of a machine with its declared fields, and whether it is declared.
fn observed_gpu_spec(gpu: &MachineGpu, declared: &[Declared<GpuSpec>], knowledge: Knowledge) -> (GpuSpec, bool) {
    // One that is divided as it is comes first.
    let fits =
        |spec: &&GpuSpec| match_gpu_name(&spec.name, &gpu.name, knowledge).map(|fit| (gpu.parts.may_match(spec), fit));
    let own = declared.iter().map(|spec| &spec.value).filter(|spec| fits(spec).is_some()).max_by_key(fits);
    let row = knowledge.gpu(&gpu.name);
    let capability = gpu.capability.filter(|own| row.is_none_or(|row| row.capability != *own));
    let spec = GpuSpec {
        name: gpu_display_name(gpu, knowledge).to_owned(),
        count: gpu.count.or_else(|| own.filter(|spec| gpu.parts.may_match(spec))?.count),
        compute_capability: capability.or_else(|| own?.compute_capability),
        brand: own.and_then(|spec| spec.brand.clone()),
        mig: match &gpu.parts {
            GpuPartitioning::Unknown => own.and_then(|spec| spec.mig.clone()),
            GpuPartitioning::Whole => None,
            GpuPartitioning::Mig { .. } => Some(gpu.parts.single_profile().unwrap_or_default().to_owned()),
        },
    };
    (spec, own.is_some())
}

/// The points for the label of a pool, which outweigh all others.
const POOL_LABEL_POINTS: i64 = 1000;

/// The points for a GPU with the declared name, count and partitioning.
const GPU_POINTS: i64 = 4;

/// Returns the points of a machine for a pool, more for a better match; `None` if it belongs to another pool.
fn similarity_points(pool: &Pool, machine: &InventoryMachine, knowledge: Knowledge) -> Option<i64> {
    let build = &machine.build;
    let declared = |name: &str| pool.labels.iter().find(|(own, _)| own == name).map(|(_, value)| value.value.as_str());
    let labelled = POOL_LABELS.iter().find_map(|name| Some((*name, declared(name)?)));
    let by_label = match labelled {
        Some((name, value)) if !machine.labels.is_empty() => {
            if machine.labels.get(name).map(String::as_str) != Some(value) {
                return None;
            }
            true
        }
        _ => false,
    };
    let own_name = build.pool.as_deref() == Some(pool.name.value.as_str());
    let of_gpus = gpu_points(pool, build, knowledge);
    let agree = pool.labels.iter().filter(|(name, value)| machine.labels.get(name) == Some(&value.value)).count();
    // What a node does not say of its GPU is declared for the nodes that have the labels of the pool.
    let labels = agree == pool.labels.len() && (agree > 0 || build.labels.is_empty());
    let divided =
        |gpu: &MachineGpu| pool.gpu.is_empty() || pool.gpu.iter().any(|spec| gpu.parts.may_match(&spec.value));
    let nameless =
        named_gpus(build).next().is_none() && build.gpus.iter().all(divided) && (labels || pool.gpu.is_empty());
    // Of a GPU that no fleet file can name none is declared.
    let unnamed = pool.gpu.is_empty() && build.gpus.iter().any(|gpu| !is_expressible(gpu, knowledge));
    let platform = pool.platform.as_ref().zip(build.platform.as_ref());
    let same_platform = platform.is_none_or(|(own, seen)| own.value.starts_with(seen.as_str()));
    if !by_label && !(same_platform && (of_gpus.is_some() || own_name || nameless || unnamed)) {
        return None;
    }
    let mut points =
        POOL_LABEL_POINTS * i64::from(by_label) + i64::from(own_name && !by_label) + of_gpus.unwrap_or_default();
    points -= i64::from(of_gpus.is_none() && !pool.gpu.is_empty());
    points += GPU_POINTS * i64::from(unnamed);
    for (name, value) in &pool.labels {
        // A label that another says better is left out of a pool that is written of the machine.
        let counts = build.labels.contains_key(name) || !IDENTIFYING_LABELS.contains(&name.as_str());
        points += points_or_penalty(machine.labels.get(name), |own| i64::from(counts && *own == value.value));
    }
    points += driver_points(pool, build);
    if let Some(platform) = &pool.platform {
        points += points_or_penalty(build.platform.as_ref(), |own| i64::from(platform.value.starts_with(own.as_str())));
    }
    if let Some(cuda) = &pool.driver_cuda {
        points += points_or_penalty(build.cuda, |own| i64::from(own == cuda.value));
    }
    if let Some(capability) = &pool.compute_capability {
        let own = build.gpus.iter().find_map(|gpu| gpu.capability);
        points += points_or_penalty(own, |own| i64::from(own == capability.value));
    }
    points += i64::from(pool.launch.as_ref().is_some_and(|launch| build.launch == Some(launch.value)));
    points -= i64::from(pool.wsl.as_ref().is_some_and(|wsl| wsl.value) != build.wsl);
    Some(points)
}

/// Returns the points for a property of a pool that is compared with `own`, that of a machine; a penalty if the machine
/// has none.
fn points_or_penalty<T>(own: Option<T>, points: impl FnOnce(T) -> i64) -> i64 {
    own.map_or(-1, points)
}

/// Returns the GPUs that have a name.
fn named_gpus(build: &MachineConfig) -> impl Iterator<Item = &MachineGpu> {
    build.gpus.iter().filter(|gpu| !gpu.name.is_empty())
}

/// Returns the points for the GPUs; `None` if the machine has no declared one.
fn gpu_points(pool: &Pool, build: &MachineConfig, knowledge: Knowledge) -> Option<i64> {
    let specs = || pool.gpu.iter().map(|spec| &spec.value);
    let pairs = specs().flat_map(|spec| named_gpus(build).map(move |gpu| (spec, gpu)));
    let pairs: Vec<_> = pairs
        .filter(|(spec, gpu)| gpu.parts.may_match(spec))
        .filter_map(|(spec, gpu)| Some((spec, gpu, match_gpu_name(&spec.name, &gpu.name, knowledge)?)))
        .collect();
    let best = pairs.iter().map(|(spec, gpu, fit)| {
        let count = match (spec.count, gpu.count) {
            (Some(declared), own) => points_or_penalty(own, |own| i64::from(own == declared)),
            (None, _) => 0,
        };
        let parts = match (&gpu.parts, spec.mig.as_deref()) {
            (GpuPartitioning::Whole, None) => 1,
            (GpuPartitioning::Mig { .. }, Some(own)) => {
                i64::from(gpu.parts.single_profile().unwrap_or_default() == own)
            }
            (GpuPartitioning::Unknown, Some(_)) => -1,
            (GpuPartitioning::Unknown | GpuPartitioning::Mig { .. }, None) | (GpuPartitioning::Whole, Some(_)) => 0,
        };
        1 + i64::from(*fit == GpuNameAgreement::Same) + count + parts
    });
    let best = best.max()?;
    // A list is what a node may have any one of: one that says no more than the machine has is closer.
    let lacking = specs().filter(|spec| !pairs.iter().any(|(own, ..)| own == spec)).count();
    let undeclared = named_gpus(build).filter(|gpu| !pairs.iter().any(|(_, own, _)| own == gpu)).count();
    Some(best - i64::try_from(lacking + undeclared).unwrap_or(i64::MAX / 2))
}

/// Returns the points for the driver.
fn driver_points(pool: &Pool, build: &MachineConfig) -> i64 {
    let specs = || pool.driver.iter().map(|spec| &spec.value);
    match build.driver {
        None => -i64::from(!pool.driver.is_empty()),
        Some(_) if pool.driver.is_empty() => -1,
        Some(own) if specs().any(|spec| *spec == DriverSpec::Exact(own)) => 3,
        Some(own) => 2 * i64::from(specs().any(|spec| matches_driver(spec, own))),
    }
}

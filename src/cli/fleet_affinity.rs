//! `imagelint fleet affinity`: the Kubernetes node affinity for exactly the nodes on which an input starts.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::io::Write as _;
use std::path::Path;

use crate::cli::args::{DockerfileArgs, FleetAffinityArgs};
use crate::cli::command_inputs::CommandInputs;
use crate::cli::describe::InputRequest;
use crate::cli::error::CommandError;
use crate::cli::exit::Exit;
use crate::cli::{describe, fleet_file, fleet_import, scan, streams};
use crate::fleet::inventory::{MachineConfig, NodeLabels};
use crate::fleet::{Fleet, Launch, Pool, PoolField, inventory};
use crate::judge;
use crate::judge::{AnalysisSettings, AnalysisSubject, ReportDetail};
use crate::knowledge::Knowledge;
use crate::report::escape::escape_one_line;
use crate::report::kinds::VerdictKind;
use crate::rules::{Persona, RuleBook};
use crate::text::source::Sources;

/// Nodes of the same configuration, which have the same verdicts.
struct AffinityGroup {
    /// Descriptions for the output, one for each pool that the nodes may belong to.
    descriptions: Vec<String>,
    /// The nodes: a description for the output, and the labels.
    nodes: Vec<(String, NodeLabels)>,
}

/// Pools to judge, one for each description of each group in the same order, and nodes without a GPU.
struct AffinityCandidates {
    fleet: Fleet,
    groups: Vec<AffinityGroup>,
    others: Vec<NodeLabels>,
}

/// Runs `imagelint fleet affinity`.
pub(crate) fn run(options: &FleetAffinityArgs, knowledge: Knowledge) -> Result<Exit, CommandError> {
    let mut sources = Sources::default();
    let named = options.fleet.clone().or_else(fleet_file::fleet_file_from_environment);
    let start = Some(Path::new(&options.input)).filter(|path| path.exists());
    let fleet = fleet_file::load_fleet_file(named, start, knowledge, &mut sources)?;
    let field = match &options.against {
        Some(path) => candidates_from_nodes(&fleet, path, knowledge)?,
        None => candidates_from_labels(fleet)?,
    };
    let subject = read_subject(options, &field.fleet, knowledge, &mut sources)?;
    let settings = AnalysisSettings {
        fleet: &field.fleet,
        pools: &[],
        as_of: None,
        persona: Persona::Regular,
        knowledge,
        book: RuleBook::built_in(),
        sources: &sources,
        detail: ReportDetail::Verdicts,
        own: None,
    };
    let judged = judge::judge_subject(&subject, settings);
    let verdicts = judged.verdicts.iter().filter(|verdict| verdict.component.is_none());
    let fates: BTreeMap<&str, VerdictKind> = verdicts.map(|verdict| (verdict.pool.as_str(), verdict.fate)).collect();
    if !judged.gpu_content {
        writeln!(streams::stderr(), "nothing to select: {} has no GPU content and starts on every node", subject.name)?;
        return Ok(Exit::Nothing);
    }
    print_affinity(&subject.name, &field, &fates)
}

/// Prints the node affinity, with the groups that it selects and those that it excludes.
fn print_affinity(
    name: &str,
    field: &AffinityCandidates,
    fates: &BTreeMap<&str, VerdictKind>,
) -> Result<Exit, CommandError> {
    let (mut starting, mut others, mut pool_fates) = (Vec::new(), Vec::new(), Vec::new());
    let mut pools = field.fleet.pools.iter();
    for group in &field.groups {
        let own = group.descriptions.iter().zip(&mut pools).map(|(description, pool)| {
            let fate = fates.get(pool.name.value.as_str()).copied().unwrap_or(VerdictKind::NotApplicable);
            (description.as_str(), fate)
        });
        let own: Vec<(&str, VerdictKind)> = own.collect();
        let nodes = group.nodes.iter().map(|(name, labels)| (labels, name.as_str()));
        // Of whichever of the pools a node is, it has to start there.
        if own.iter().all(|(_, fate)| *fate == VerdictKind::Starts) {
            starting.extend(nodes);
        } else {
            others.extend(nodes);
        }
        pool_fates.extend(own);
    }
    others.extend(field.others.iter().map(|labels| (labels, "a node without an NVIDIA GPU")));
    if starting.is_empty() {
        for (group, fate) in &pool_fates {
            writeln!(streams::stderr(), "{}: {fate}", escape_one_line(group))?;
        }
        writeln!(streams::stderr(), "no affinity: no node is certain to start {name}")?;
        return Ok(Exit::Found);
    }
    let declared = field.fleet.pools.iter().flat_map(|pool| &pool.labels);
    let own: BTreeSet<&str> = declared.map(|(name, _)| name.as_str()).collect();
    let own: Vec<&str> = own.into_iter().collect();
    let labels = |list: &[(_, _)]| list.iter().map(|(labels, _)| *labels).collect::<Vec<&NodeLabels>>();
    let terms = inventory::node_selector_terms(&own, &labels(&starting), &labels(&others)).map_err(|(at, other)| {
        let group = |list: &[(&NodeLabels, &str)], at: usize| {
            escape_one_line(list.get(at).map_or("", |(_, node)| *node)).into_owned()
        };
        let starting_node = group(&starting, at);
        let help = "deploy GPU Feature Discovery to label the nodes (nvidia.com/gpu.product, \
                    nvidia.com/cuda.driver-version.full), or label them yourself (kubectl label node NAME \
                    gpu-pool=NAME) and add the label to `labels` of their pool";
        CommandError::Message(match other {
            Some(other) => format!(
                "error: no label distinguishes {starting_node} (starts) from {} (fails, or is unknown)\nhelp: {help}",
                group(&others, other)
            ),
            None => format!("error: {starting_node} (starts) has no label that identifies it\nhelp: {help}"),
        })
    })?;
    let mut out = io::BufWriter::new(streams::stdout());
    writeln!(out, "# Nodes on which {} starts.", escape_one_line(name))?;
    for (group, fate) in &pool_fates {
        writeln!(out, "# {}: {fate}", escape_one_line(group))?;
    }
    write!(out, "{}", inventory::affinity_yaml(&terms))?;
    out.flush()?;
    Ok(Exit::Clean)
}

/// Reads the only subject of the input; fails if there are several.
fn read_subject(
    options: &FleetAffinityArgs,
    fleet: &Fleet,
    knowledge: Knowledge,
    sources: &mut Sources,
) -> Result<AnalysisSubject, CommandError> {
    let FleetAffinityArgs { input, reading, settings, .. } = options;
    let DockerfileArgs { pull, access, build } = reading;
    let platforms: Vec<String> = scan::fleet_platforms(fleet, knowledge).iter().map(ToString::to_string).collect();
    let request =
        InputRequest { input, platform: &platforms.join(","), pull: *pull, access, build, settings, knowledge };
    let mut inputs = CommandInputs { subjects: describe::read_input(request, sources)?, ..CommandInputs::default() };
    if let Some(folder) = Path::new(&fleet.name).parent().filter(|_| !fleet.built_in) {
        inputs.make_paths_relative_to(if folder.as_os_str().is_empty() { Path::new(".") } else { folder });
    }
    let number = inputs.subjects.len();
    match (inputs.subjects.pop(), number) {
        (Some(subject), 1) => Ok(subject),
        _ => Err(CommandError::Message(format!("error: {input} contains {number} inputs; pass one of them"))),
    }
}

/// Whether Kubernetes places containers on the nodes of a pool.
fn is_kubernetes_pool(pool: &Pool) -> bool {
    pool.launch.as_ref().is_none_or(|launch| matches!(launch.value, Launch::Kubernetes | Launch::Gke))
}

/// Returns the Kubernetes pools of a fleet as candidates, with their declared labels.
fn candidates_from_labels(mut fleet: Fleet) -> Result<AffinityCandidates, CommandError> {
    let help = "or pass the nodes: --against nodes.json (kubectl get nodes -o json)";
    fleet.pools.retain(is_kubernetes_pool);
    if let Some(pool) = fleet.pools.iter().find(|pool| pool.labels.is_empty()) {
        let (file, pool) = (&fleet.name, &pool.name.value);
        let message = format!("error: pool `{pool}` of {file} has no `labels` for the selector: add them, {help}");
        return Err(CommandError::Message(message));
    }
    if fleet.pools.is_empty() {
        let name = &fleet.name;
        let message = format!(
            "error: {name} has no Kubernetes pool: set `launch = \"kubernetes\"` for the pools of your cluster, {help}"
        );
        return Err(CommandError::Message(message));
    }
    let labels = |pool: &Pool| pool.labels.iter().map(|(name, value)| (name.clone(), value.value.clone())).collect();
    let group = |pool: &Pool| AffinityGroup {
        descriptions: vec![pool.name.value.clone()],
        nodes: vec![(pool.name.value.clone(), labels(pool))],
    };
    let groups = fleet.pools.iter().map(group).collect();
    Ok(AffinityCandidates { fleet, groups, others: Vec::new() })
}

/// Returns the nodes of a cluster as candidates, each with the properties that its pool declares in addition.
fn candidates_from_nodes(fleet: &Fleet, path: &Path, knowledge: Knowledge) -> Result<AffinityCandidates, CommandError> {
    let found = fleet_import::read_source(path, knowledge)?;
    let unlabelled = |machine: &inventory::InventoryMachine| machine.labels.is_empty();
    if !found.machines.is_empty() && found.machines.iter().all(unlabelled) {
        let message = format!(
            "error: {} has no node with labels; pass the output of `kubectl get nodes -o json`",
            path.display()
        );
        return Err(CommandError::Message(message));
    }
    let mut builds = BTreeMap::new();
    for machine in found.machines {
        let bases = if fleet.built_in { Vec::new() } else { inventory::matching_pools(fleet, &machine, knowledge) };
        let nodes: &mut Vec<(String, NodeLabels)> = builds.entry((bases, machine.build)).or_default();
        if !nodes.iter().any(|(_, labels)| *labels == machine.labels) {
            nodes.push((machine.name, machine.labels));
        }
    }
    let mut seen =
        Fleet { source: fleet.source, name: fleet.name.clone(), built_in: fleet.built_in, pools: Vec::new() };
    let mut groups = Vec::new();
    for ((bases, build), nodes) in builds {
        let bases: Vec<Option<&Pool>> =
            if bases.is_empty() { vec![None] } else { bases.iter().map(|base| fleet.pools.get(*base)).collect() };
        let node_descriptions: Vec<String> = bases.iter().map(|base| describe_nodes(*base, &build)).collect();
        for base in bases {
            let name = seen.pools.len().to_string();
            seen.pools.push(inventory::pool_as_observed(base, name, &build, knowledge));
        }
        let first = node_descriptions.first().map_or("", String::as_str);
        let nodes = nodes.into_iter().map(|(name, labels)| (format!("node {name} with {first}"), labels)).collect();
        groups.push(AffinityGroup { descriptions: node_descriptions, nodes });
    }
    Ok(AffinityCandidates { fleet: seen, groups, others: found.left_out })
}

/// Returns a description of nodes: their GPU, driver and pool, measured or declared.
fn describe_nodes(base: Option<&Pool>, build: &MachineConfig) -> String {
    let gpu_names: Vec<&str> = build.gpus.iter().map(|gpu| gpu.name.as_str()).filter(|name| !name.is_empty()).collect();
    let declared = |field| base.and_then(|pool| pool.field_text(field));
    let gpus = match declared(PoolField::Gpu) {
        _ if !gpu_names.is_empty() => gpu_names.join(", "),
        Some(gpu) => format!("{gpu} as declared"),
        None => "an unknown GPU".to_owned(),
    };
    let driver = match (build.driver, declared(PoolField::Driver)) {
        (Some(driver), _) => format!("driver {driver}"),
        (None, Some(driver)) => format!("driver {driver} as declared"),
        (None, None) => "an unknown driver".to_owned(),
    };
    let pool = base.map_or_else(|| "of no pool".to_owned(), |pool| format!("pool {}", pool.name.value));
    format!("{gpus}, {driver} ({pool})")
}

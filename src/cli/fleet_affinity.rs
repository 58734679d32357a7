//! `imagelint fleet affinity`: the node affinity of exactly the nodes on which an input starts.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::io;
use std::io::Write as _;
use std::path::Path;

use crate::cli::Failure;
use crate::cli::args::FleetAffinityArgs;
use crate::cli::args::ReadingArgs;
use crate::cli::describe;
use crate::cli::describe::Asked;
use crate::cli::exit::Exit;
use crate::cli::fleet;
use crate::cli::fleet_import;
use crate::cli::inputs::Inputs;
use crate::cli::scan;
use crate::cli::streams;
use crate::fleet::Fleet;
use crate::fleet::Launch;
use crate::fleet::Pool;
use crate::fleet::PoolField;
use crate::inventory;
use crate::inventory::Build;
use crate::inventory::Labels;
use crate::judge;
use crate::judge::Detail;
use crate::judge::Settings;
use crate::judge::Subject;
use crate::knowledge::Knowledge;
use crate::report::escape::clean;
use crate::report::kinds::VerdictKind;
use crate::rules::Persona;
use crate::rules::RuleBook;
use crate::source::Sources;

/// Nodes that are judged alike.
struct Group {
    /// What they are called in what is told, for each pool that they may be of.
    told: Vec<String>,
    /// Its nodes: what each is called in what is told, and its labels.
    nodes: Vec<(String, Labels)>,
}

/// What is to be judged: of the pools of the fleet in their order as many for each group as it is told of; and nodes that
/// have no GPU.
struct Field {
    fleet: Fleet,
    groups: Vec<Group>,
    others: Vec<Labels>,
}

/// Runs it.
pub(crate) fn run(options: &FleetAffinityArgs, knowledge: Knowledge) -> Result<Exit, Failure> {
    let mut sources = Sources::default();
    let named = options.fleet.clone().or_else(fleet::from_environment);
    let start = Some(Path::new(&options.input)).filter(|path| path.exists());
    let fleet = fleet::of_file(named, start, knowledge, &mut sources)?;
    let field = match &options.against {
        Some(path) => of_nodes(&fleet, path, knowledge)?,
        None => of_labels(fleet)?,
    };
    let subject = subject(options, &field.fleet, knowledge, &mut sources)?;
    let settings = Settings {
        fleet: &field.fleet,
        pools: &[],
        as_of: None,
        persona: Persona::Regular,
        knowledge,
        book: RuleBook::built_in(),
        sources: &sources,
        detail: Detail::Verdicts,
        own: None,
    };
    let judged = judge::judge(&subject, settings);
    let verdicts = judged.verdicts.iter().filter(|verdict| verdict.component.is_none());
    let fates: BTreeMap<&str, VerdictKind> = verdicts.map(|verdict| (verdict.pool.as_str(), verdict.fate)).collect();
    if !judged.gpu_content {
        writeln!(streams::err(), "nothing to select: {} has no GPU content and starts on every node", subject.name)?;
        return Ok(Exit::Nothing);
    }
    print(&subject.name, &field, &fates)
}

/// Prints the selector with what it selects and what it leaves out.
fn print(name: &str, field: &Field, fates: &BTreeMap<&str, VerdictKind>) -> Result<Exit, Failure> {
    let (mut wanted, mut others, mut told) = (Vec::new(), Vec::new(), Vec::new());
    let mut pools = field.fleet.pools.iter();
    for group in &field.groups {
        let own = group.told.iter().zip(&mut pools).map(|(told, pool)| {
            let fate = fates.get(pool.name.value.as_str()).copied().unwrap_or(VerdictKind::NotApplicable);
            (told.as_str(), fate)
        });
        let own: Vec<(&str, VerdictKind)> = own.collect();
        let nodes = group.nodes.iter().map(|(name, labels)| (labels, name.as_str()));
        // Of whichever of the pools a node is, it has to start there.
        if own.iter().all(|(_, fate)| *fate == VerdictKind::Starts) {
            wanted.extend(nodes);
        } else {
            others.extend(nodes);
        }
        told.extend(own);
    }
    others.extend(field.others.iter().map(|labels| (labels, "a node without an NVIDIA GPU")));
    if wanted.is_empty() {
        for (group, fate) in &told {
            writeln!(streams::err(), "{}: {fate}", clean(group))?;
        }
        writeln!(streams::err(), "no affinity: no node is certain to start {name}")?;
        return Ok(Exit::Found);
    }
    let declared = field.fleet.pools.iter().flat_map(|pool| &pool.labels);
    let own: BTreeSet<&str> = declared.map(|(name, _)| name.as_str()).collect();
    let own: Vec<&str> = own.into_iter().collect();
    let labels = |list: &[(_, _)]| list.iter().map(|(labels, _)| *labels).collect::<Vec<&Labels>>();
    let terms = inventory::choose(&own, &labels(&wanted), &labels(&others)).map_err(|(at, other)| {
        let group =
            |list: &[(&Labels, &str)], at: usize| clean(list.get(at).map_or("", |(_, told)| *told)).into_owned();
        let wanted = group(&wanted, at);
        let help = "deploy GPU Feature Discovery to label the nodes (nvidia.com/gpu.product, \
                    nvidia.com/cuda.driver-version.full), or label them yourself (kubectl label node NAME \
                    gpu-pool=NAME) and add the label to `labels` of their pool";
        Failure::Said(match other {
            Some(other) => format!(
                "error: no label distinguishes {wanted} (starts) from {} (fails, or is unknown)\nhelp: {help}",
                group(&others, other)
            ),
            None => format!("error: {wanted} (starts) has no label that identifies it\nhelp: {help}"),
        })
    })?;
    let mut out = io::BufWriter::new(streams::out());
    writeln!(out, "# Nodes on which {} starts.", clean(name))?;
    for (group, fate) in &told {
        writeln!(out, "# {}: {fate}", clean(group))?;
    }
    write!(out, "{}", inventory::to_yaml(&terms))?;
    out.flush()?;
    Ok(Exit::Clean)
}

fn subject(
    options: &FleetAffinityArgs,
    fleet: &Fleet,
    knowledge: Knowledge,
    sources: &mut Sources,
) -> Result<Subject, Failure> {
    let FleetAffinityArgs { input, reading, settings, .. } = options;
    let ReadingArgs { pull, access, build } = reading;
    let platforms: Vec<String> = scan::platforms(fleet, knowledge).iter().map(ToString::to_string).collect();
    let asked = Asked { input, platform: &platforms.join(","), pull: *pull, access, build, settings, knowledge };
    let mut inputs = Inputs { subjects: describe::read(asked, sources)?, ..Inputs::default() };
    if let Some(folder) = Path::new(&fleet.name).parent().filter(|_| !fleet.built_in) {
        inputs.seen_from(if folder.as_os_str().is_empty() { Path::new(".") } else { folder });
    }
    let number = inputs.subjects.len();
    match (inputs.subjects.pop(), number) {
        (Some(subject), 1) => Ok(subject),
        _ => Err(Failure::Said(format!("error: {input} contains {number} inputs; pass one of them"))),
    }
}

/// Whether Kubernetes places containers there.
fn is_scheduled(pool: &Pool) -> bool {
    pool.launch.as_ref().is_none_or(|launch| matches!(launch.value, Launch::Kubernetes | Launch::Gke))
}

/// The pools of a fleet that Kubernetes places containers on, by their labels.
fn of_labels(mut fleet: Fleet) -> Result<Field, Failure> {
    let help = "or pass the nodes: --against nodes.json (kubectl get nodes -o json)";
    fleet.pools.retain(is_scheduled);
    if let Some(pool) = fleet.pools.iter().find(|pool| pool.labels.is_empty()) {
        let (file, pool) = (&fleet.name, &pool.name.value);
        let message = format!("error: pool `{pool}` of {file} has no `labels` for the selector: add them, {help}");
        return Err(Failure::Said(message));
    }
    if fleet.pools.is_empty() {
        let name = &fleet.name;
        let message = format!(
            "error: {name} has no Kubernetes pool: set `launch = \"kubernetes\"` for the pools of your cluster, {help}"
        );
        return Err(Failure::Said(message));
    }
    let labels = |pool: &Pool| pool.labels.iter().map(|(name, value)| (name.clone(), value.value.clone())).collect();
    let group = |pool: &Pool| Group {
        told: vec![pool.name.value.clone()],
        nodes: vec![(pool.name.value.clone(), labels(pool))],
    };
    let groups = fleet.pools.iter().map(group).collect();
    Ok(Field { fleet, groups, others: Vec::new() })
}

/// The nodes of a cluster, each as it is and with what its pool declares beside.
fn of_nodes(fleet: &Fleet, path: &Path, knowledge: Knowledge) -> Result<Field, Failure> {
    let found = fleet_import::source(path, knowledge)?;
    let unlabelled = |machine: &inventory::Machine| machine.labels.is_empty();
    if !found.machines.is_empty() && found.machines.iter().all(unlabelled) {
        let message = format!(
            "error: {} has no node with labels; pass the output of `kubectl get nodes -o json`",
            path.display()
        );
        return Err(Failure::Said(message));
    }
    let mut builds = BTreeMap::new();
    for machine in found.machines {
        let bases = if fleet.built_in { Vec::new() } else { inventory::places(fleet, &machine, knowledge) };
        let nodes: &mut Vec<(String, Labels)> = builds.entry((bases, machine.build)).or_default();
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
        let told: Vec<String> = bases.iter().map(|base| told(*base, &build)).collect();
        for base in bases {
            let name = seen.pools.len().to_string();
            seen.pools.push(inventory::as_seen(base, name, &build, knowledge));
        }
        let first = told.first().map_or("", String::as_str);
        let nodes = nodes.into_iter().map(|(name, labels)| (format!("node {name} with {first}"), labels)).collect();
        groups.push(Group { told, nodes });
    }
    Ok(Field { fleet: seen, groups, others: found.left_out })
}

/// What nodes are called: what they say of themselves, and what their pool declares beside.
fn told(base: Option<&Pool>, build: &Build) -> String {
    let said: Vec<&str> = build.gpus.iter().map(|gpu| gpu.name.as_str()).filter(|name| !name.is_empty()).collect();
    let declared = |field| base.and_then(|pool| pool.text_of(field));
    let gpus = match declared(PoolField::Gpu) {
        _ if !said.is_empty() => said.join(", "),
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

//! Request: which devices a container gets, and who said so.

use std::borrow::Cow;

use crate::cuda::DeviceRequest;
use crate::cuda::Environment;
use crate::cuda::device_names;
use crate::cuda::device_request;
use crate::cuda::device_request_as_written;
use crate::cuda::is_cdi_name;
use crate::cuda::is_legacy_image;
use crate::fleet::DeviceSource;
use crate::fleet::Host;
use crate::fleet::Mode;
use crate::fleet::Options;
use crate::fleet::PoolEntry;
use crate::fleet::PoolField;
use crate::knowledge::ToolkitChange;
use crate::start::Basis;
use crate::start::environment::Env;

pub(super) const VISIBLE: &str = "NVIDIA_VISIBLE_DEVICES";
/// CDI names of which the specification is made at run time begin so.
pub(super) const MADE: &str = "runtime.nvidia.com/gpu=";

/// What comes of the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asked {
    /// No device and no driver file.
    Nothing,
    /// Driver files without a device.
    DriverOnly,
    /// At least one device.
    Gpus,
    /// A device that the node does not have.
    Missing,
    /// CDI names that are made at run time, and others.
    Mixed,
    /// Devices that an unprivileged container may not ask for, which the hook takes for an error.
    Forbidden,
    /// The variable has a value that cannot be told.
    UntoldVariable,
    /// It names devices of which we do not know whether the node has them.
    UntoldDevice,
}

/// A request and what it rests on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Request {
    pub(super) asked: Asked,
    pub(super) facts: [Option<Basis>; 3],
}

impl Request {
    fn of(asked: Asked, facts: [Option<Basis>; 3]) -> Self {
        Self { asked, facts }
    }
}

/// Which devices a container gets.
pub(super) fn request(env: Env<'_>, host: &Host) -> Request {
    let launch = Some(Basis::Pool(PoolField::Launch));
    let none = host.gpu.as_ref().is_some_and(|gpu| gpu.count == Some(0));
    let handed = if none {
        Request::of(Asked::Nothing, [Some(Basis::Pool(PoolField::Gpu)), launch, None])
    } else {
        Request::of(Asked::Gpus, [launch, None, None])
    };
    let privileged = Some(Basis::Pool(PoolField::Privileged));
    let option = |name| Some(Basis::Entry(PoolEntry::Option(name)));
    match host.devices {
        DeviceSource::Launch => handed,
        DeviceSource::Nobody => Request::of(Asked::Nothing, [Some(Basis::Pool(PoolField::Runtime)), launch, None]),
        DeviceSource::Off => Request::of(Asked::Nothing, [Some(Basis::Pool(PoolField::Mode)), launch, None]),
        // Variables of `swarm-resource` are read before the one that the engine or the device plugin sets.
        DeviceSource::Hook | DeviceSource::Variable if stands_in(env, host).is_some() => by_environment(env, host),
        DeviceSource::Hook | DeviceSource::Variable if reads_variable(host) => handed,
        DeviceSource::Hook | DeviceSource::Variable => {
            Request::of(unread(host), [option(Options::ACCEPT_ENVVAR), launch, privileged])
        }
        DeviceSource::Mounts => {
            let strategy = Some(Basis::Pool(PoolField::Strategy));
            let asked = match (host.options.accept_mounts, reads_variable(host)) {
                (true, _) => handed.asked,
                // The variable then holds the mounts' folder, which is no device.
                (false, true) => Asked::Missing,
                (false, false) => unread(host),
            };
            Request::of(asked, [option(Options::ACCEPT_MOUNTS), strategy, None])
        }
        DeviceSource::Environment | DeviceSource::LaunchAndEnvironment | DeviceSource::Enroot => {
            by_environment(env, host)
        }
    }
}

/// Whether the container toolkit reads the variable in this container.
fn reads_variable(host: &Host) -> bool {
    host.runs_privileged() || host.options.accept_envvar
}

/// What a variable comes to that the container toolkit does not read.
fn unread(host: &Host) -> Asked {
    let ignored = host.toolkit.is_none() || host.behaviour.changes.has(ToolkitChange::EnvvarIgnored);
    if ignored || host.mode != Mode::Legacy { Asked::Nothing } else { Asked::Forbidden }
}

/// Whether the toolkit takes the variable as it is written: special words only as the whole value, with every blank.
pub(super) fn as_written(host: &Host) -> bool {
    let by_toolkit = host.toolkit.is_some() && host.devices != DeviceSource::Enroot;
    by_toolkit && !host.behaviour.changes.has(ToolkitChange::DeviceWords)
}

/// The names of a list, as far as anybody looks.
fn names<'a>(value: &'a str, host: &Host) -> Vec<&'a str> {
    if !as_written(host) {
        return device_names(value).collect();
    }
    // The command line ends its search at `all`.
    let names = value.split(',').filter(|name| !name.is_empty());
    names.take_while(|name| !name.eq_ignore_ascii_case("all")).collect()
}

fn by_environment(env: Env<'_>, host: &Host) -> Request {
    let launch = Some(Basis::Pool(PoolField::Launch));
    let from_enroot = host.devices == DeviceSource::Enroot;
    let swarm = stand_ins(env, host);
    let name = swarm.first().copied().unwrap_or(VISIBLE);
    let basis = Some(env.basis(name));
    let untold = env.untold(name).or_else(|| {
        let unset = env.value(name).is_none() && !from_enroot;
        env.untold_age().filter(|_| unset)
    });
    if untold.is_some() {
        return Request::of(Asked::UntoldVariable, [untold, launch, None]);
    }
    let value = value(env, &swarm);
    let legacy = !from_enroot && is_legacy_image(&env);
    let because = (value.is_none() && legacy).then(|| env.basis("CUDA_VERSION"));
    let request = match value.as_deref() {
        value if from_enroot => by_enroot(value),
        value if as_written(host) => device_request_as_written(value, legacy),
        value => device_request(value, legacy),
    };
    if request != DeviceRequest::Nothing && !from_enroot && !reads_variable(host) {
        let option = Basis::Entry(PoolEntry::Option(Options::ACCEPT_ENVVAR));
        return Request::of(unread(host), [Some(option), basis, Some(Basis::Pool(PoolField::Privileged))]);
    }
    let asked = match request {
        DeviceRequest::Nothing => Asked::Nothing,
        DeviceRequest::DriverOnly => driver_only(host),
        DeviceRequest::All => Asked::Gpus,
        DeviceRequest::Listed => listed(value.as_deref().unwrap_or_default(), host),
    };
    let count = matches!(asked, Asked::Missing | Asked::UntoldDevice).then_some(Basis::Pool(PoolField::Gpu));
    Request::of(asked, [basis, because.or(count), launch])
}

/// How many GPUs a container has at most: as many as the node, and no more than the list that it is given has names.
pub(super) fn at_most(env: Env<'_>, host: &Host) -> Option<usize> {
    let of_node = host.gpu.as_ref().and_then(|gpu| gpu.count).and_then(|count| usize::try_from(count).ok());
    let reads_list = matches!(host.devices, DeviceSource::Environment | DeviceSource::Enroot);
    let given = value(env, &stand_ins(env, host)).filter(|_| reads_list && host.mode != Mode::Csv);
    let listed = given.filter(|value| device_request(Some(value), false) == DeviceRequest::Listed);
    let of_list = listed.map(|value| device_names(&value).count());
    match (of_node, of_list) {
        (Some(node), Some(list)) => Some(node.min(list)),
        (one, other) => one.or(other),
    }
}

/// Those variables of `swarm-resource` that are set; in some versions the hook alone reads them.
fn stand_ins<'a>(env: Env<'_>, host: &'a Host) -> Vec<&'a str> {
    // Toolkits that take the last variable which is set take that of the engine, too.
    let sets = matches!(host.devices, DeviceSource::Hook | DeviceSource::Variable);
    let last = host.toolkit.is_some() && !host.behaviour.changes.has(ToolkitChange::SwarmFirst);
    let own = last && (sets || env.value(VISIBLE).is_some() || env.untold(VISIBLE).is_some());
    let read =
        host.devices != DeviceSource::Enroot && !own && (host.mode == Mode::Legacy || host.behaviour.swarm_in_runtime);
    let names = host.options.swarm.iter().filter(|_| read);
    names.map(String::as_str).filter(|name| env.value(name).is_some() || env.untold(name).is_some()).collect()
}

/// The variable of `swarm-resource` that stands in, where one is set.
pub(super) fn stands_in<'a>(env: Env<'_>, host: &'a Host) -> Option<&'a str> {
    stand_ins(env, host).first().copied()
}

fn value<'a>(env: Env<'a>, swarm: &[&str]) -> Option<Cow<'a, str>> {
    match swarm {
        [] => env.value(VISIBLE).map(Cow::Borrowed),
        [one] => env.value(one).map(Cow::Borrowed),
        several => {
            let values: Vec<&str> = several.iter().filter_map(|name| env.value(name)).collect();
            Some(Cow::Owned(values.join(",")))
        }
    }
}

/// enroot's hook compares the whole value.
fn by_enroot(value: Option<&str>) -> DeviceRequest {
    match value {
        None | Some("" | "void") => DeviceRequest::Nothing,
        Some("none") => DeviceRequest::DriverOnly,
        Some(_) => DeviceRequest::Listed,
    }
}

/// What `none` comes to: some modes drop the empty name that stands for it, and take every device.
fn driver_only(host: &Host) -> Asked {
    match host.mode {
        Mode::Csv => Asked::Gpus,
        Mode::JitCdi if !host.behaviour.changes.has(ToolkitChange::NoneInJitCdi) => Asked::Gpus,
        // A name like any other, and no specification has it.
        Mode::Cdi => Asked::Missing,
        Mode::Legacy | Mode::JitCdi | Mode::None => Asked::DriverOnly,
    }
}

/// Whether the node has every device of a list, as far as that can be told.
fn listed(value: &str, host: &Host) -> Asked {
    if host.mode == Mode::Csv && !host.behaviour.changes.has(ToolkitChange::CsvDeviceIds) {
        return Asked::Gpus;
    }
    if matches!(host.mode, Mode::JitCdi | Mode::Cdi) {
        let made = |name: &str| name.starts_with(MADE) || (host.mode == Mode::JitCdi && !is_cdi_name(name));
        if device_names(value).any(made) && !device_names(value).all(made) {
            return Asked::Mixed;
        }
    }
    // A list with doubles gets an empty name in front, which stands for `none`.
    if doubled(value) && matches!(host.mode, Mode::JitCdi | Mode::Cdi) {
        return driver_only(host);
    }
    let mut untold = false;
    for name in names(value, host) {
        match there(name, host) {
            Some(true) => {}
            Some(false) => return Asked::Missing,
            None => untold = true,
        }
    }
    if untold { Asked::UntoldDevice } else { Asked::Gpus }
}

/// Whether a list names a device twice.
fn doubled(value: &str) -> bool {
    let mut names: Vec<&str> = device_names(value).collect();
    let all = names.len();
    names.sort_unstable();
    names.dedup();
    names.len() < all
}

/// Whether the node has a device; none where it cannot be told.
pub(super) fn there(name: &str, host: &Host) -> Option<bool> {
    let by_cli = host.mode == Mode::Legacy;
    let count = host.gpu.as_ref().and_then(|gpu| gpu.count);
    // Of one module the csv mode knows no other name, neither a UUID nor a CDI name.
    if host.mode == Mode::Csv && count == Some(1) {
        return Some(matches!(name, "all" | "0"));
    }
    if host.mode == Mode::Cdi && name == "none" {
        return Some(false);
    }
    let made = name.starts_with(MADE) && !by_cli;
    let of_specification = is_cdi_name(name) && !made;
    let name = match name.split_once('=') {
        Some((kind, device)) if is_cdi_name(name) && !by_cli => {
            let known = matches!(kind, "nvidia.com/gpu" | "runtime.nvidia.com/gpu");
            if !known {
                return None;
            }
            device
        }
        _ => name,
    };
    if name == "all" || (by_cli && name.eq_ignore_ascii_case("all")) {
        return Some(true);
    }
    // The command line reads a number behind blanks.
    let number = if by_cli { name.trim_start() } else { name };
    if !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()) {
        // A number too long for any counter is no index of any node.
        let Ok(index) = number.parse::<u32>() else { return Some(false) };
        return match count {
            Some(count) => Some(index < count),
            None => (index == 0).then_some(true),
        };
    }
    // The toolkit itself takes whole identifiers and nothing else; specifications on the node have names of their own.
    if made || (host.mode == Mode::JitCdi && !of_specification) {
        return if is_whole(name) { None } else { Some(false) };
    }
    let lower = name.get(..3).map(str::to_ascii_lowercase);
    let one_of_the_world = matches!(lower.as_deref(), Some("gpu" | "mig")) || name.contains(':');
    let open_names = matches!(host.mode, Mode::Cdi | Mode::Csv | Mode::None);
    if one_of_the_world || open_names { None } else { Some(false) }
}

/// Whether a name is one that `go-nvlib` takes for a device beside its index: a UUID in full, or `GPU:PART`.
fn is_whole(name: &str) -> bool {
    let number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let of_gpu = |text: &str| text.strip_prefix("GPU-").is_some_and(is_uuid);
    let of_part = |text: &str| {
        let parts: Vec<&str> = text.split('/').collect();
        is_uuid(text) || matches!(parts[..], [gpu, one, other] if of_gpu(gpu) && number(one) && number(other))
    };
    of_gpu(name)
        || name.strip_prefix("MIG-").is_some_and(of_part)
        || name.split_once(':').is_some_and(|(gpu, part)| number(gpu) && number(part))
}

/// A UUID in one of the four forms of `github.com/google/uuid`.
fn is_uuid(text: &str) -> bool {
    let bare = match text.len() {
        45 => text.get(..9).filter(|head| head.eq_ignore_ascii_case("urn:uuid:")).and(text.get(9..)),
        // Whatever stands around it.
        38 => text.get(1..37),
        _ => Some(text),
    };
    let Some(bare) = bare else { return false };
    let hex = |text: &str| text.bytes().all(|byte| byte.is_ascii_hexdigit());
    match text.len() {
        32 => hex(bare),
        36 | 38 | 45 => {
            let lengths: Vec<usize> = bare.split('-').map(str::len).collect();
            lengths == [8, 4, 4, 4, 12] && bare.split('-').all(hex)
        }
        _ => false,
    }
}

/// The first device of a list that decided.
pub(super) fn first(env: Env<'_>, host: &Host, wanted: Option<bool>) -> Option<String> {
    if host.devices == DeviceSource::Mounts {
        return Some("/var/run/nvidia-container-devices".to_owned());
    }
    let value = value(env, &stand_ins(env, host))?;
    if wanted == Some(false) && host.mode == Mode::Cdi && doubled(&value) {
        return Some("none".to_owned());
    }
    names(&value, host).into_iter().find(|name| there(name, host) == wanted).map(str::to_owned)
}

/// Whether the environment names fully qualified CDI devices and nothing else.
pub(super) fn only_cdi_names(env: Env<'_>, host: &Host) -> bool {
    value(env, &stand_ins(env, host)).is_some_and(|value| {
        device_request(Some(&value), false) == DeviceRequest::Listed
            && device_names(&value).all(is_cdi_name)
            && !doubled(&value)
    })
}

/// Whether the environment certainly asks for nothing.
pub(super) fn asks_nothing(env: Env<'_>, host: &Host) -> bool {
    by_environment(env, host).asked == Asked::Nothing
}

/// The value of the variable that decided, for messages.
pub(super) fn written(env: Env<'_>, host: &Host) -> Option<String> {
    value(env, &stand_ins(env, host)).map(Cow::into_owned)
}

/// Whether anything is asked of the container toolkit in this container.
pub(super) fn at_work(asked: Asked) -> bool {
    asked != Asked::Nothing
}

/// A variable that only a privileged container may set, where this one sets it.
pub(super) fn mig_variable(env: Env<'_>, host: &Host) -> Option<&'static str> {
    let by_toolkit =
        (host.mode == Mode::Legacy || host.devices == DeviceSource::Hook) && host.devices != DeviceSource::Enroot;
    let names = ["NVIDIA_MIG_CONFIG_DEVICES", "NVIDIA_MIG_MONITOR_DEVICES"];
    names.into_iter().find(|name| by_toolkit && !host.runs_privileged() && env.filled(name))
}

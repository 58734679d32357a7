//! Which devices a container requests, and which setting requests them.

use std::borrow::Cow;

use crate::cuda::{
    DeviceRequest, EnvironmentVariables, device_names, device_request, is_cdi_name, is_legacy_image,
    old_toolkit_device_request,
};
use crate::fleet::{DeviceSource, Host, Mode, PoolEntry, PoolField, ToolkitOptions};
use crate::knowledge::ToolkitChange;
use crate::replay::Basis;
use crate::replay::environment::ContainerEnv;

/// Name of the variable that lists the requested devices.
pub(super) const VISIBLE_DEVICES_VARIABLE: &str = "NVIDIA_VISIBLE_DEVICES";
/// Prefix of CDI device names whose specification is generated at run time.
pub(super) const RUNTIME_CDI_PREFIX: &str = "runtime.nvidia.com/gpu=";

/// The kind of a container's device request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum GpuRequestKind {
    /// No device and no driver file.
    Nothing,
    /// Driver files without a device.
    DriverOnly,
    /// At least one device.
    Gpus,
    /// A device that the node does not have is requested.
    Missing,
    /// CDI names that are generated at run time are requested together with other names.
    Mixed,
    /// Devices are requested that an unprivileged container may not request; the hook fails.
    Forbidden,
    /// The variable is set to a value that is unknown.
    UnknownVariable,
    /// Devices are requested of which it is unknown whether the node has them.
    UnknownDevice,
}

/// A device request, with the facts on which it rests.
#[derive(Clone, Copy, Debug)]
pub(super) struct GpuRequest {
    pub(super) kind: GpuRequestKind,
    pub(super) facts: [Option<Basis>; 3],
}

impl GpuRequest {
    /// Creates a request.
    fn new(kind: GpuRequestKind, facts: [Option<Basis>; 3]) -> Self {
        Self { kind, facts }
    }
}

/// Returns which devices a container gets on a host.
pub(super) fn resolve_gpu_request(env: ContainerEnv<'_>, host: &Host) -> GpuRequest {
    let launch = Some(Basis::Pool(PoolField::Launch));
    let none = host.gpu.as_ref().is_some_and(|gpu| gpu.count == Some(0));
    let of_launch = if none {
        GpuRequest::new(GpuRequestKind::Nothing, [Some(Basis::Pool(PoolField::Gpu)), launch, None])
    } else {
        GpuRequest::new(GpuRequestKind::Gpus, [launch, None, None])
    };
    let privileged = Some(Basis::Pool(PoolField::Privileged));
    let option = |name| Some(Basis::Entry(PoolEntry::Option(name)));
    match host.devices {
        DeviceSource::Launch => of_launch,
        DeviceSource::PlainRuntime => {
            GpuRequest::new(GpuRequestKind::Nothing, [Some(Basis::Pool(PoolField::Runtime)), launch, None])
        }
        DeviceSource::Off => {
            GpuRequest::new(GpuRequestKind::Nothing, [Some(Basis::Pool(PoolField::Mode)), launch, None])
        }
        // Variables of `swarm-resource` are read before the one that the engine or the device plugin sets.
        DeviceSource::Hook | DeviceSource::Variable if first_swarm_variable(env, host).is_some() => {
            request_from_environment(env, host)
        }
        DeviceSource::Hook | DeviceSource::Variable if reads_visible_devices(host) => of_launch,
        DeviceSource::Hook | DeviceSource::Variable => GpuRequest::new(
            request_of_unread_variable(host),
            [option(ToolkitOptions::ACCEPT_ENVVAR), launch, privileged],
        ),
        DeviceSource::Mounts => {
            let strategy = Some(Basis::Pool(PoolField::Strategy));
            let kind = match (host.options.accept_mounts, reads_visible_devices(host)) {
                (true, _) => of_launch.kind,
                // The variable then holds the mounts' folder, which is no device.
                (false, true) => GpuRequestKind::Missing,
                (false, false) => request_of_unread_variable(host),
            };
            GpuRequest::new(kind, [option(ToolkitOptions::ACCEPT_MOUNTS), strategy, None])
        }
        DeviceSource::Environment | DeviceSource::LaunchAndEnvironment | DeviceSource::Enroot => {
            request_from_environment(env, host)
        }
    }
}

/// Whether the container toolkit reads `NVIDIA_VISIBLE_DEVICES` in this container.
fn reads_visible_devices(host: &Host) -> bool {
    host.runs_privileged() || host.options.accept_envvar
}

/// Returns the request for a variable that the container toolkit does not read.
fn request_of_unread_variable(host: &Host) -> GpuRequestKind {
    let ignored = host.toolkit.is_none() || host.behaviour.changes.contains(ToolkitChange::EnvvarIgnored);
    if ignored || host.mode != Mode::Legacy { GpuRequestKind::Nothing } else { GpuRequestKind::Forbidden }
}

/// Whether the toolkit reads the variable verbatim: special names only as the whole value, and blanks included.
pub(super) fn reads_value_verbatim(host: &Host) -> bool {
    let by_toolkit = host.toolkit.is_some() && host.devices != DeviceSource::Enroot;
    by_toolkit && !host.behaviour.changes.contains(ToolkitChange::DeviceWords)
}

/// Returns the device names of a list, up to the one at which the toolkit stops reading.
fn considered_device_names<'a>(value: &'a str, host: &Host) -> Vec<&'a str> {
    if !reads_value_verbatim(host) {
        return device_names(value).collect();
    }
    // The command line ends its search at `all`.
    let names = value.split(',').filter(|name| !name.is_empty());
    names.take_while(|name| !name.eq_ignore_ascii_case("all")).collect()
}

/// Returns the request that the environment of the container makes.
fn request_from_environment(env: ContainerEnv<'_>, host: &Host) -> GpuRequest {
    let launch = Some(Basis::Pool(PoolField::Launch));
    let from_enroot = host.devices == DeviceSource::Enroot;
    let swarm = set_swarm_variables(env, host);
    let name = swarm.first().copied().unwrap_or(VISIBLE_DEVICES_VARIABLE);
    let basis = Some(env.basis(name));
    let missing = env.unknown_variable(name).or_else(|| {
        let unset = env.value(name).is_none() && !from_enroot;
        env.missing_legacy_fact().filter(|_| unset)
    });
    if missing.is_some() {
        return GpuRequest::new(GpuRequestKind::UnknownVariable, [missing, launch, None]);
    }
    let value = device_list_value(env, &swarm);
    let legacy = !from_enroot && is_legacy_image(&env);
    let because = (value.is_none() && legacy).then(|| env.basis("CUDA_VERSION"));
    let request = match value.as_deref() {
        value if from_enroot => enroot_device_request(value),
        value if reads_value_verbatim(host) => old_toolkit_device_request(value, legacy),
        value => device_request(value, legacy),
    };
    if request != DeviceRequest::Nothing && !from_enroot && !reads_visible_devices(host) {
        let option = Basis::Entry(PoolEntry::Option(ToolkitOptions::ACCEPT_ENVVAR));
        return GpuRequest::new(
            request_of_unread_variable(host),
            [Some(option), basis, Some(Basis::Pool(PoolField::Privileged))],
        );
    }
    let kind = match request {
        DeviceRequest::Nothing => GpuRequestKind::Nothing,
        DeviceRequest::DriverOnly => none_request(host),
        DeviceRequest::All => GpuRequestKind::Gpus,
        DeviceRequest::Listed => device_list_request(value.as_deref().unwrap_or_default(), host),
    };
    let count =
        matches!(kind, GpuRequestKind::Missing | GpuRequestKind::UnknownDevice).then_some(Basis::Pool(PoolField::Gpu));
    GpuRequest::new(kind, [basis, because.or(count), launch])
}

/// Returns how many GPUs a container has at most: no more than the node has, and no more than the device list names.
pub(super) fn max_gpu_count(env: ContainerEnv<'_>, host: &Host) -> Option<usize> {
    let of_node = host.gpu.as_ref().and_then(|gpu| gpu.count).and_then(|count| usize::try_from(count).ok());
    let reads_list = matches!(host.devices, DeviceSource::Environment | DeviceSource::Enroot);
    let given =
        device_list_value(env, &set_swarm_variables(env, host)).filter(|_| reads_list && host.mode != Mode::Csv);
    let listed = given.filter(|value| device_request(Some(value), false) == DeviceRequest::Listed);
    let of_list = listed.map(|value| device_names(&value).count());
    match (of_node, of_list) {
        (Some(node), Some(list)) => Some(node.min(list)),
        (one, other) => one.or(other),
    }
}

/// Returns the variables of `swarm-resource` that are set and that the toolkit reads.
fn set_swarm_variables<'a>(env: ContainerEnv<'_>, host: &'a Host) -> Vec<&'a str> {
    // Toolkits that take the last variable which is set take that of the engine, too.
    let sets = matches!(host.devices, DeviceSource::Hook | DeviceSource::Variable);
    let last = host.toolkit.is_some() && !host.behaviour.changes.contains(ToolkitChange::SwarmFirst);
    let own = last
        && (sets
            || env.value(VISIBLE_DEVICES_VARIABLE).is_some()
            || env.unknown_variable(VISIBLE_DEVICES_VARIABLE).is_some());
    let read =
        host.devices != DeviceSource::Enroot && !own && (host.mode == Mode::Legacy || host.behaviour.swarm_in_runtime);
    let names = host.options.swarm.iter().filter(|_| read);
    names.map(String::as_str).filter(|name| env.value(name).is_some() || env.unknown_variable(name).is_some()).collect()
}

/// Returns the variable of `swarm-resource` that replaces `NVIDIA_VISIBLE_DEVICES`, if one is set.
pub(super) fn first_swarm_variable<'a>(env: ContainerEnv<'_>, host: &'a Host) -> Option<&'a str> {
    set_swarm_variables(env, host).first().copied()
}

/// Returns the value of the variable that lists the devices, or the joined values of several variables of
/// `swarm-resource`.
fn device_list_value<'a>(env: ContainerEnv<'a>, swarm: &[&str]) -> Option<Cow<'a, str>> {
    match swarm {
        [] => env.value(VISIBLE_DEVICES_VARIABLE).map(Cow::Borrowed),
        [one] => env.value(one).map(Cow::Borrowed),
        several => {
            let values: Vec<&str> = several.iter().filter_map(|name| env.value(name)).collect();
            Some(Cow::Owned(values.join(",")))
        }
    }
}

/// Returns the request that enroot's hook reads from a value; it compares the whole value.
fn enroot_device_request(value: Option<&str>) -> DeviceRequest {
    match value {
        None | Some("" | "void") => DeviceRequest::Nothing,
        Some("none") => DeviceRequest::DriverOnly,
        Some(_) => DeviceRequest::Listed,
    }
}

/// Returns the request for the value `none`: some modes drop the empty name that it stands for, and take every
/// device.
fn none_request(host: &Host) -> GpuRequestKind {
    match host.mode {
        Mode::Csv => GpuRequestKind::Gpus,
        Mode::JitCdi if !host.behaviour.changes.contains(ToolkitChange::NoneInJitCdi) => GpuRequestKind::Gpus,
        // A name like any other, and no specification has it.
        Mode::Cdi => GpuRequestKind::Missing,
        Mode::Legacy | Mode::JitCdi | Mode::None => GpuRequestKind::DriverOnly,
    }
}

/// Returns the request for a list of devices, depending on whether the node has each of them.
fn device_list_request(value: &str, host: &Host) -> GpuRequestKind {
    if host.mode == Mode::Csv && !host.behaviour.changes.contains(ToolkitChange::CsvDeviceIds) {
        return GpuRequestKind::Gpus;
    }
    if matches!(host.mode, Mode::JitCdi | Mode::Cdi) {
        let made =
            |name: &str| name.starts_with(RUNTIME_CDI_PREFIX) || (host.mode == Mode::JitCdi && !is_cdi_name(name));
        if device_names(value).any(made) && !device_names(value).all(made) {
            return GpuRequestKind::Mixed;
        }
    }
    // A list with doubles gets an empty name in front, which stands for `none`.
    if has_duplicate_device(value) && matches!(host.mode, Mode::JitCdi | Mode::Cdi) {
        return none_request(host);
    }
    let mut has_unknown = false;
    for name in considered_device_names(value, host) {
        match is_device_present(name, host) {
            Some(true) => {}
            Some(false) => return GpuRequestKind::Missing,
            None => has_unknown = true,
        }
    }
    if has_unknown { GpuRequestKind::UnknownDevice } else { GpuRequestKind::Gpus }
}

/// Whether a list names a device twice.
fn has_duplicate_device(value: &str) -> bool {
    let mut names: Vec<&str> = device_names(value).collect();
    let all = names.len();
    names.sort_unstable();
    names.dedup();
    names.len() < all
}

/// Whether the node has a device; `None` if unknown.
pub(super) fn is_device_present(name: &str, host: &Host) -> Option<bool> {
    let by_cli = host.mode == Mode::Legacy;
    let count = host.gpu.as_ref().and_then(|gpu| gpu.count);
    // Of one module the csv mode knows no other name, neither a UUID nor a CDI name.
    if host.mode == Mode::Csv && count == Some(1) {
        return Some(matches!(name, "all" | "0"));
    }
    if host.mode == Mode::Cdi && name == "none" {
        return Some(false);
    }
    let made = name.starts_with(RUNTIME_CDI_PREFIX) && !by_cli;
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
        return if is_full_device_id(name) { None } else { Some(false) };
    }
    let lower = name.get(..3).map(str::to_ascii_lowercase);
    let one_of_the_world = matches!(lower.as_deref(), Some("gpu" | "mig")) || name.contains(':');
    let open_names = matches!(host.mode, Mode::Cdi | Mode::Csv | Mode::None);
    if one_of_the_world || open_names { None } else { Some(false) }
}

/// Whether a name is an identifier other than an index that `go-nvlib` accepts: a full UUID, or `GPU:PART`.
fn is_full_device_id(name: &str) -> bool {
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

/// Whether a text is a UUID in one of the four forms of `github.com/google/uuid`.
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

/// Returns the first device of the list whose presence on the node is `wanted`.
pub(super) fn first_device_with(env: ContainerEnv<'_>, host: &Host, presence: Option<bool>) -> Option<String> {
    if host.devices == DeviceSource::Mounts {
        return Some("/var/run/nvidia-container-devices".to_owned());
    }
    let value = device_list_value(env, &set_swarm_variables(env, host))?;
    if presence == Some(false) && host.mode == Mode::Cdi && has_duplicate_device(&value) {
        return Some("none".to_owned());
    }
    considered_device_names(&value, host)
        .into_iter()
        .find(|name| is_device_present(name, host) == presence)
        .map(str::to_owned)
}

/// Whether the environment requests fully qualified CDI devices and nothing else.
pub(super) fn requests_only_cdi_names(env: ContainerEnv<'_>, host: &Host) -> bool {
    device_list_value(env, &set_swarm_variables(env, host)).is_some_and(|value| {
        device_request(Some(&value), false) == DeviceRequest::Listed
            && device_names(&value).all(is_cdi_name)
            && !has_duplicate_device(&value)
    })
}

/// Whether the environment certainly requests no devices.
pub(super) fn requests_no_devices(env: ContainerEnv<'_>, host: &Host) -> bool {
    request_from_environment(env, host).kind == GpuRequestKind::Nothing
}

/// Returns the value of the variable that decided, for messages.
pub(super) fn device_list_text(env: ContainerEnv<'_>, host: &Host) -> Option<String> {
    device_list_value(env, &set_swarm_variables(env, host)).map(Cow::into_owned)
}

/// Whether a request makes the container toolkit do anything in this container.
pub(super) fn uses_container_toolkit(kind: GpuRequestKind) -> bool {
    kind != GpuRequestKind::Nothing
}

/// Returns a MIG variable that only a privileged container may set, if this unprivileged one sets it.
pub(super) fn forbidden_mig_variable(env: ContainerEnv<'_>, host: &Host) -> Option<&'static str> {
    let by_toolkit =
        (host.mode == Mode::Legacy || host.devices == DeviceSource::Hook) && host.devices != DeviceSource::Enroot;
    let names = ["NVIDIA_MIG_CONFIG_DEVICES", "NVIDIA_MIG_MONITOR_DEVICES"];
    names.into_iter().find(|name| by_toolkit && !host.runs_privileged() && env.is_non_empty(name))
}

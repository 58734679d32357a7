//! The fields of a pool, their names in reports, and their values and positions in the fleet file.

use crate::fleet::{Declared, DriverSpec, Pool, ToolkitOptions};
use crate::text::source::Span;

macro_rules! fields {
    ($($variant:ident = $name:literal, $doc:literal;)*) => {
        /// A field of a pool.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum PoolField { $(#[doc = $doc] $variant,)* }

        impl PoolField {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// The key in reports.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => concat!("pool.", $name),)* }
            }
        }
    };
}

fields! {
    Gpu = "gpu", "`gpu`.";
    Brand = "brand", "`brand`.";
    ComputeCapability = "compute_capability", "`compute_capability`.";
    Driver = "driver", "`driver`.";
    DriverCuda = "driver_cuda", "`driver_cuda`.";
    Platform = "platform", "`platform`.";
    Launch = "launch", "`launch`.";
    Toolkit = "toolkit", "`toolkit`, or `libnvidia_container` in its place.";
    LibnvidiaContainer = "libnvidia_container", "`libnvidia_container`.";
    Mode = "mode", "`mode`.";
    Env = "env", "`env`.";
    Wsl = "wsl", "`wsl`.";
    Host = "host", "`[pool.host]`.";
    Engine = "engine", "`engine`.";
    CdiSpecs = "cdi_specs", "`cdi_specs`.";
    Runtime = "runtime", "`runtime`.";
    Strategy = "device_list_strategy", "`device_list_strategy`.";
    Privileged = "privileged", "`privileged`.";
    Modeset = "modeset", "`modeset`.";
    LibraryDirectory = "library_directory", "`library_directory`.";
}

impl PoolField {
    /// Returns the key to declare where this field is open; for `[pool.host]`, the option that is checked with both
    /// values.
    pub fn open_field_key(self) -> &'static str {
        match self {
            Self::Host => "pool.host.accept-nvidia-visible-devices-as-volume-mounts",
            _ => self.name(),
        }
    }

    /// Returns what it is, in a sentence.
    pub fn description(self) -> &'static str {
        match self {
            Self::Gpu => "the GPU",
            Self::Brand => "the brand of the GPU",
            Self::ComputeCapability => "the compute capability",
            Self::Driver => "the driver",
            Self::DriverCuda => "the CUDA version of the driver",
            Self::Platform => "the platform of the nodes",
            Self::Launch => "the launch method",
            Self::Toolkit => "the version of the container toolkit",
            Self::LibnvidiaContainer => "the version of libnvidia-container",
            Self::Mode => "the mode of the container toolkit",
            Self::Env => "the environment of the container",
            Self::Wsl => "whether the nodes run WSL",
            Self::Host => "`accept-nvidia-visible-devices-as-volume-mounts`",
            Self::Engine => "the container engine",
            Self::CdiSpecs => "the CDI specifications of the nodes",
            Self::Runtime => "the container runtime",
            Self::Strategy => "`device_list_strategy`",
            Self::Privileged => "whether the container is privileged",
            Self::Modeset => "whether the nodes load nvidia-modeset",
            Self::LibraryDirectory => "the library directory of the nodes",
        }
    }

    /// Returns how to declare it with one value.
    pub fn remedy(self) -> &'static str {
        match self {
            Self::Gpu => "split the pool by `gpu`",
            Self::Brand => "set `brand` of the pool",
            Self::ComputeCapability => "set `compute_capability` of the pool",
            Self::DriverCuda => "set `driver_cuda` of the pool",
            Self::LibnvidiaContainer => "set `libnvidia_container` of the pool",
            Self::Driver => "set `driver` of the pool to one version",
            Self::Launch => "set `launch` of the pool",
            Self::Toolkit => "set `toolkit` of the pool",
            Self::Mode => "set `mode` of the pool",
            Self::Platform => "set `platform` of the pool",
            Self::Env => "set `env` of the pool",
            Self::Wsl => "set `wsl` of the pool",
            Self::Host => "set `accept-nvidia-visible-devices-as-volume-mounts` under `[pool.host]`",
            Self::Engine => "set `engine` of the pool, with its version",
            Self::CdiSpecs => "set `cdi_specs` of the pool",
            Self::Runtime => "set `runtime` of the pool",
            Self::Strategy => "set `device_list_strategy` of the pool",
            Self::Privileged => "set `privileged` of the pool",
            Self::Modeset => "set `modeset` of the pool",
            Self::LibraryDirectory => "set `library_directory` of the pool",
        }
    }

    /// Returns how to declare it where the pool has no value.
    pub fn remedy_if_undeclared(self) -> &'static str {
        if self == Self::Gpu { "set `gpu` of the pool" } else { self.remedy() }
    }
}

/// An entry of the `env` or `[pool.host]` table of a pool, which has its own position in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PoolEntry {
    /// The variable of `env` that has so many before it in the order of names.
    Variable(usize),
    /// The option of `[pool.host]` of that name.
    Option(&'static str),
}

impl PoolEntry {
    /// The options of `[pool.host]` that steps cite.
    pub const CITED_OPTIONS: &[&str] = &[
        ToolkitOptions::ACCEPT_ENVVAR,
        ToolkitOptions::ACCEPT_MOUNTS,
        ToolkitOptions::DISABLE_REQUIRE,
        ToolkitOptions::MODE,
        ToolkitOptions::SUPPORTED_CAPABILITIES,
    ];

    /// Returns the table that contains the entry.
    pub const fn table_field(self) -> PoolField {
        match self {
            Self::Variable(_) => PoolField::Env,
            Self::Option(_) => PoolField::Host,
        }
    }

    /// Returns the name and declared value of the entry in a pool; `None` where it is not declared.
    pub fn declaration_in(self, pool: &Pool) -> Option<(&str, &Declared<String>)> {
        let place = |list: &[(String, Declared<String>)], name: &str| list.iter().position(|(own, _)| own == name);
        let (list, at) = match self {
            Self::Variable(before) => {
                let mut names: Vec<&str> = pool.env.iter().map(|(name, _)| name.as_str()).collect();
                names.sort_unstable();
                (&pool.env, place(&pool.env, names.get(before)?))
            }
            Self::Option(name) => {
                let short = || Some(ToolkitOptions::SHORT_MODE).filter(|_| name == ToolkitOptions::MODE);
                (&pool.host, place(&pool.host, name).or_else(|| place(&pool.host, short()?)))
            }
        };
        list.get(at?).map(|(name, value)| (name.as_str(), value))
    }
}

impl Pool {
    /// Returns every entry of the `env` and `[pool.host]` tables, with its key in reports.
    pub fn table_entries(&self) -> impl Iterator<Item = (String, &Declared<String>)> {
        let tables = [(PoolField::Env, &self.env), (PoolField::Host, &self.host)];
        tables
            .into_iter()
            .flat_map(|(field, list)| list.iter().map(move |(name, value)| (format!("{}.{name}", field.name()), value)))
    }

    /// Returns the position of a field in the fleet file, the first one of several; `None` where it is not declared.
    pub fn field_span(&self, field: PoolField) -> Option<Span> {
        match field {
            PoolField::Gpu => self.gpu.first().map(|gpu| gpu.span),
            PoolField::Brand => self.brand.as_ref().map(|brand| brand.span),
            PoolField::ComputeCapability => self.compute_capability.as_ref().map(|capability| capability.span),
            PoolField::DriverCuda => self.driver_cuda.as_ref().map(|cuda| cuda.span),
            PoolField::LibnvidiaContainer => self.libnvidia_container.as_ref().map(|library| library.span),
            PoolField::Driver => self.driver.first().map(|driver| driver.span),
            PoolField::Platform => self.platform.as_ref().map(|platform| platform.span),
            PoolField::Launch => self.launch.as_ref().map(|launch| launch.span),
            PoolField::Toolkit => {
                self.libnvidia_container.as_ref().or(self.toolkit.as_ref()).map(|toolkit| toolkit.span)
            }
            PoolField::Mode => self.mode.as_ref().map(|mode| mode.span),
            PoolField::Env => self.env.first().map(|(_, value)| value.span),
            PoolField::Wsl => self.wsl.as_ref().map(|wsl| wsl.span),
            PoolField::Host => self.host.first().map(|(_, value)| value.span),
            PoolField::Engine => self.engine.as_ref().map(|engine| engine.span),
            PoolField::CdiSpecs => self.cdi_specs.as_ref().map(|specs| specs.span),
            PoolField::Runtime => self.runtime.as_ref().map(|runtime| runtime.span),
            PoolField::Strategy => self.device_list_strategy.as_ref().map(|strategy| strategy.span),
            PoolField::Privileged => self.privileged.as_ref().map(|privileged| privileged.span),
            PoolField::Modeset => self.modeset.as_ref().map(|modeset| modeset.span),
            PoolField::LibraryDirectory => self.library_directory.as_ref().map(|directory| directory.span),
        }
    }

    /// Returns the declared value of a field as one line; `None` where it is not declared.
    pub fn field_text(&self, field: PoolField) -> Option<String> {
        let pairs = |list: &[(String, Declared<String>)]| {
            let pairs: Vec<String> = list.iter().map(|(name, value)| format!("{name} = {}", value.value)).collect();
            (!pairs.is_empty()).then(|| pairs.join(", "))
        };
        match field {
            PoolField::Gpu => {
                let names: Vec<&str> = self.gpu.iter().map(|gpu| gpu.value.name.as_str()).collect();
                (!names.is_empty()).then(|| names.join(", "))
            }
            PoolField::Brand => self.brand.as_ref().map(|brand| brand.value.clone()),
            PoolField::ComputeCapability => {
                self.compute_capability.as_ref().map(|capability| capability.value.to_string())
            }
            PoolField::DriverCuda => self.driver_cuda.as_ref().map(|cuda| cuda.value.to_string()),
            PoolField::LibnvidiaContainer => self.libnvidia_container.as_ref().map(|library| library.value.to_string()),
            PoolField::Driver => self.driver_text(),
            PoolField::Platform => self.platform.as_ref().map(|platform| platform.value.clone()),
            PoolField::Launch => self.launch.as_ref().map(|launch| launch.value.to_string()),
            PoolField::Toolkit => {
                self.libnvidia_container.as_ref().or(self.toolkit.as_ref()).map(|toolkit| toolkit.value.to_string())
            }
            PoolField::Mode => self.mode.as_ref().map(|mode| mode.value.to_string()),
            PoolField::Env => pairs(&self.env),
            PoolField::Wsl => self.wsl.as_ref().map(|wsl| wsl.value.to_string()),
            PoolField::Host => pairs(&self.host),
            PoolField::Engine => self.engine.as_ref().map(|engine| engine.value.clone()),
            PoolField::CdiSpecs => self.cdi_specs.as_ref().map(|specs| specs.value.to_string()),
            PoolField::Runtime => self.runtime.as_ref().map(|runtime| runtime.value.to_string()),
            PoolField::Strategy => self.device_list_strategy.as_ref().map(|strategy| strategy.value.to_string()),
            PoolField::Privileged => self.privileged.as_ref().map(|privileged| privileged.value.to_string()),
            PoolField::Modeset => self.modeset.as_ref().map(|modeset| modeset.value.to_string()),
            PoolField::LibraryDirectory => self.library_directory.as_ref().map(|directory| directory.value.clone()),
        }
    }

    /// Returns the declared drivers as text, joined with `or`.
    pub fn driver_text(&self) -> Option<String> {
        let texts: Vec<String> = self
            .driver
            .iter()
            .map(|driver| match &driver.value {
                DriverSpec::Exact(version) => version.to_string(),
                DriverSpec::Branch(branch) => branch.to_string(),
                DriverSpec::Range { from, before } => {
                    let from = from.map(|from| format!(">={from}"));
                    let before = before.map(|before| format!("<{before}"));
                    from.into_iter().chain(before).collect::<Vec<_>>().join(",")
                }
            })
            .collect();
        (!texts.is_empty()).then(|| texts.join(" or "))
    }
}

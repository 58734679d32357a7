//! The closed vocabulary of facts: name, type and meaning, from one table.

macro_rules! keys {
    ($($variant:ident = $name:literal, $kind:literal, $doc:literal;)*) => {
        /// Which fact. `*` in a name stands for the variable, path or component that it speaks of.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum FactKey { $(#[doc = $doc] $variant,)* }

        impl FactKey {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// The name, with `*` where it speaks of something.
            pub const fn pattern(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }
        }

        /// Every key: name, type, meaning.
        pub const VOCABULARY: &[(&str, &str, &str)] = &[$(($name, $kind, $doc)),*];
    };
}

keys! {
    Base = "image.base", "text", "Reference that FROM names.";
    Platforms = "image.platforms", "list", "Platforms that there are manifests for.";
    Env = "env.*", "text", "Variable of the image configuration.";
    Package = "package.*", "text", "Package as it was asked for.";
    Requirements = "requirements.*", "text", "File that names packages for a command to install.";
    File = "file.*", "text", "File of the image.";
    FileNeeds = "needs.*", "list", "Libraries that a file asks for.";
    Code = "code.*", "list", "Targets of one library's GPU code.";
    BuildAsk = "build.asks.*", "text", "Command that asks the machine that builds for its GPU or its driver.";
    Complete = "image.complete", "list", "Families of which everything is said to be listed.";
    ArchList = "build.arch_list.*", "list", "List of GPUs that a command compiles for.";
    CudaRuntime = "image.cuda_runtime", "version", "CUDA runtime of code that is not one of the packages.";
    TagNow = "image.base.tag_now", "list", "What the tag of the base asks of a node by now, other than the pinned digest.";
    BaseCuda = "image.base.cuda", "version", "CUDA toolkit of the base image.";
    Compat = "image.compat", "list", "User-mode drivers for forward compatibility under /usr/local/cuda/compat.";
    DriverLibraries = "image.driver_libraries", "list", "Driver libraries that the image brings outside compat.";
    Entrypoint = "image.entrypoint", "list", "Program that the image starts.";
    Command = "image.command", "list", "Words of CMD.";
    CompatProbe = "image.compat_probe", "list", "Entrypoint that tries the compat library and falls back to the host's.";
    LibraryDirectory = "image.library_directory", "text", "Directory that the host's driver libraries are mounted into.";
    LdConf = "image.ld_conf", "list", "Directories that the image names to ldconfig.";
    LdCache = "image.ld_cache", "text", "The loader's cache as shipped.";
    Firmware = "image.firmware", "list", "Files in the place of the driver's firmware directories.";
    ComponentVersion = "*.version", "text", "Version of a component.";
    ComponentVariant = "*.variant", "text", "Build variant of a component, such as cu124 or cpu.";
    ComponentCuda = "*.cuda", "version", "CUDA runtime of a component.";
    ComponentCode = "*.code", "list", "GPU code of a component.";
    ComponentFloor = "*.lowest_capability", "text", "Lowest compute capability that a component takes, where nothing more is known of its GPU code.";
    ComponentNeeds = "*.needs", "list", "Libraries from outside of its package that a component needs to start.";
    ComponentOpens = "*.opens", "list", "Libraries that a component opens while it runs.";
}

impl FactKey {
    /// The name for one variable, path or component.
    pub fn name_of(self, of: Option<&str>) -> String {
        match of {
            Some(of) => self.pattern().replacen('*', of, 1),
            None => self.pattern().to_owned(),
        }
    }
}

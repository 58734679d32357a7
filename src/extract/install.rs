//! What the commands of the shipped stage install, with the files and scripts that they read.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::collections::BTreeSet;

use crate::context::Shelf;
use crate::dockerfile::Dockerfile;
use crate::dockerfile::EvaluateOptions;
use crate::dockerfile::Evaluated;
use crate::dockerfile::Lookup;
use crate::dockerfile::Resolved;
use crate::dockerfile::RunInstruction;
use crate::extract::along::along;
use crate::extract::asked;
use crate::extract::brought;
use crate::extract::cloned::Cloned;
use crate::extract::closed;
use crate::extract::closed::Beyond;
use crate::extract::compiled;
use crate::extract::fetched::Fetched;
use crate::extract::interpreter::Home;
use crate::extract::interpreter::Homes;
use crate::extract::lands::At;
use crate::extract::lands::Lands;
use crate::extract::linked;
use crate::extract::listed;
use crate::extract::loose;
use crate::extract::missing_installer;
use crate::extract::packaged::packaged;
use crate::extract::packaged::take_away;
use crate::extract::programs;
use crate::extract::programs::Program;
use crate::extract::pythons;
use crate::extract::pythons::Told;
use crate::extract::scripts::is_pattern;
use crate::extract::thin::MOST_ALIKE;
use crate::extract::thin::thin;
use crate::extract::tree::Looks;
use crate::extract::tree::Tree;
use crate::extract::tree::absolute;
use crate::extract::venv;
use crate::extract::venv::Environments;
use crate::extract::wheels::Wheels;
use crate::extract::written::written;
use crate::fact::CodeSeen;
use crate::fact::Evidence;
use crate::fact::FactId;
use crate::fact::FactKey;
use crate::fact::Manager;
use crate::fact::Observations;
use crate::fact::Origin;
use crate::fact::PackageSeen;
use crate::fact::PackageVersion;
use crate::fact::State as FactState;
use crate::fact::Unsaid;
use crate::fact::Value;
use crate::fact::Why;
use crate::install;
use crate::install::Around;
use crate::install::Compiled;
use crate::install::Environment;
use crate::install::Install;
use crate::install::Installs;
use crate::install::Machine;
use crate::install::Opened;
use crate::install::VersionSpec;
use crate::knowledge::Knowledge;
use crate::shell;
use crate::shell::Command;
use crate::shell::Trace;
use crate::shell::Word;
use crate::source::SourceId;
use crate::source::Span;

/// What the commands of a stage are read with.
#[derive(Clone, Copy)]
pub(super) struct Inputs<'a> {
    pub(super) dockerfile: &'a Dockerfile,
    pub(super) evaluated: &'a Evaluated,
    /// Those of its RUN instructions that are read.
    pub(super) runs: &'a [RunInstruction],
    pub(super) options: &'a EvaluateOptions,
    pub(super) source: SourceId,
    pub(super) shelf: &'a dyn Shelf,
    pub(super) looks: &'a Looks,
}

/// So many commands of one target are gone through, those of its scripts and of the stages that it copies from with them:
/// each may have to look at all in front of it.
const MOST_COMMANDS: u32 = 8_192;
/// So many packages and bounds of one command are kept: the longest lock files have some thousands.
const MOST_PACKAGES: usize = 8_192;
/// So many of all commands of one target.
const MOST_IN_ALL: usize = 32_768;

/// What commands leave behind for those after them.
#[derive(Clone, Debug, Default)]
pub(super) struct State {
    /// What `pip config set` set, by the variable that says the same.
    pub(super) settings: BTreeMap<String, Resolved>,
    /// Files that a command wrote or changed: what is in them, or why that cannot be told.
    pub(super) made: BTreeMap<String, Result<Opened, String>>,
    /// How many traces there were when a file was written.
    pub(super) made_at: BTreeMap<String, usize>,
    /// Files and folders that a command took away.
    pub(super) gone: BTreeSet<String>,
    /// What commands may have changed: the instruction that they stand in and the folder that they ran in.
    pub(super) traces: Vec<(usize, String, Trace)>,
    /// How many scripts were gone through.
    pub(super) scripts: usize,
    pub(super) environments: Environments,
    /// Where packages of Python lie, other than where the Python of the image looks.
    pub(super) homes: Homes,
    /// Repositories that were set up and whose packages bring something else than their names say.
    repositories: BTreeSet<&'static str>,
    /// The Python of the base, once that was asked for.
    python: OnceCell<Option<&'static str>>,
    /// Whether a command brought a Python that uv may take in place of the base's.
    pub(super) other_python: bool,
    /// Files that commands and ADD fetched.
    pub(super) fetched: Fetched,
    /// How many of the COPY and ADD instructions were looked at for those.
    copies: usize,
    /// Where things were put.
    pub(super) lands: Lands,
    /// Wheels that commands put into folders.
    pub(super) wheels: Wheels,
    /// Repositories that commands cloned.
    cloned: Cloned,
    /// Whether a command may have brought what nobody can tell.
    pub(super) beyond: Beyond,
    /// Directories of PATH that a COPY may bring programs into, with the RUN that they were looked up for.
    pub(super) on_path: (usize, Vec<String>),
    /// Programs that commands linked, and those that were copied.
    pub(super) programs: Vec<Program>,
    /// Whether the installer of a toolkit ran.
    pub(super) other_toolkit: bool,
    /// Whether a command may have brought an installer of packages, or one was found to be missing.
    pub(super) any_installer: bool,
}

impl State {
    /// A variable as installers see it: settings that a command wrote down stand above the environment.
    fn lookup(&self, run: &RunInstruction, name: &str) -> Lookup {
        match self.settings.get(name) {
            Some(Resolved::Known { value, .. }) => Lookup::Known(value.clone(), Vec::new()),
            Some(Resolved::Unresolved { names, reason }) => Lookup::Unknown(names.clone(), reason.clone()),
            None => run.scope.lookup(name),
        }
    }
}

/// What one command installs.
struct Read {
    found: Installs,
    compiled: Option<Compiled>,
    /// The command with the names of packages in place of files that another command fetched.
    named: Option<Command>,
    /// The Python that it installs for.
    python: Option<String>,
    /// Whether that is an environment apart from what the base brings.
    apart: bool,
    /// Where it lies, other than where the Python of the image looks.
    home: Option<Home>,
    /// What is not judged, in words.
    left_out: Vec<String>,
}

/// Reads every RUN in order: packages come and go in `seen`; what could not be read becomes a note.
pub(super) fn installs(inputs: Inputs<'_>, done: &mut State, seen: &mut Observations, notes: &mut Vec<String>) {
    let Inputs { dockerfile, evaluated, runs, options, source, shelf, looks } = inputs;
    let machine = if options.platform.split('/').nth(1) == Some("arm64") { "aarch64" } else { "x86_64" };
    let machine = Machine::watched(machine, &looks.machine);
    let tree = Tree { dockerfile, evaluated, options, shelf, looks };
    let (folder, knowledge) = (String::new(), options.knowledge);
    let mut reader = Reader { tree, machine, seen, notes, done, source, dockerfile: source, folder, knowledge };
    for run in runs {
        run.folder.as_ref().clone_into(&mut reader.folder);
        reader.done.environments.begin();
        reader.done.lands.begin(run);
        let copies = evaluated.copies.iter().take_while(|copy| copy.instruction < run.instruction);
        for copy in copies.skip(reader.done.copies) {
            reader.done.copies += 1;
            reader.done.fetched.added(copy);
            reader.done.cloned.added(copy);
        }
        let first = reader.seen.facts.len();
        for command in reader.among(run, |files| shell::commands_among(run, files)) {
            reader.step(&command, run, 0);
        }
        brought::note(reader.seen, first, source, run);
        let places = reader.done.lands.compiled().to_vec();
        for code in reader.seen.code.iter().filter(|code| code.fact.0 >= first) {
            reader.done.lands.put_program(code.fact, places.clone());
        }
    }
}

/// Goes through commands in order.
pub(super) struct Reader<'a> {
    pub(super) tree: Tree<'a>,
    pub(super) machine: Machine<'a>,
    pub(super) seen: &'a mut Observations,
    pub(super) notes: &'a mut Vec<String>,
    pub(super) done: &'a mut State,
    /// The text that the commands at hand stand in.
    pub(super) source: SourceId,
    /// The text of the Dockerfile.
    dockerfile: SourceId,
    pub(super) folder: String,
    pub(super) knowledge: Knowledge,
}

impl Reader<'_> {
    /// Reads one command; how deep it stands in scripts that run one another.
    pub(super) fn step(&mut self, command: &Command, run: &RunInstruction, depth: usize) {
        self.seen.commands += 1;
        if self.seen.commands > MOST_COMMANDS || self.seen.packages.len() + self.seen.bounds.len() > MOST_IN_ALL {
            let most = format!("{MOST_COMMANDS} commands or {MOST_IN_ALL} packages");
            return self.stop(command, &format!("it has more than {most}; the rest is skipped"));
        }
        if command.cut {
            self.stop(command, "a script exceeds the limits for commands, words or levels; the rest is skipped");
        }
        missing_installer::read(self, command, run, depth);
        self.seen.other_python =
            self.seen.other_python || (pythons::other(command) && !pythons::takes_own(self, command, run));
        self.done.environments.note(command, &self.folder);
        if command.program() == Some("cd") {
            let to = command.words.get(1).and_then(Word::known).unwrap_or("~/");
            self.folder = absolute(&self.folder, to);
            return;
        }
        if matches!(command.program(), Some("rm" | "mv" | "unlink")) {
            let path =
                |word: &Word| absolute(&self.folder, word.known().unwrap_or("/").split('*').next().unwrap_or(""));
            self.done.gone.extend(command.words.iter().skip(1).map(path));
        }
        self.seen.of_base.builds_for_gpus |= compiled::is_for_gpus(command);
        if self.seen.of_base.loose.len() < loose::MOST {
            self.seen.of_base.loose.extend(loose::of_command(command, &self.folder));
        }
        self.done.lands.note(At { command, run, folder: &self.folder, knowledge: self.knowledge }, &self.seen.packages);
        self.packed_elsewhere(command);
        self.fetched_script(command);
        if self.configure(command) || self.script(command, run, depth) {
            return;
        }
        self.trace(command, run);
        self.make(command, run, depth);
        let read = self.read(command, run);
        self.look(command, run, depth, &read);
        self.record(command, run, read);
    }

    /// Leaves out what a command names too often or too much of, and says so.
    fn cut(&mut self, found: &mut Installs, tag: Option<&str>, span: Span) {
        let lists = [&mut found.packages, &mut found.constraints];
        let cut = lists.map(|list| {
            let thinned = thin(list);
            let long = list.len() > MOST_PACKAGES;
            list.truncate(MOST_PACKAGES);
            thinned || long
        });
        if cut.contains(&true) {
            let reason = format!(
                "it names more than {MOST_PACKAGES} packages, or one of them in more than \
                {MOST_ALIKE} variants"
            );
            self.note(format!("a command installs unknown packages: {reason}"));
            self.untold(&[], &reason, tag, span);
        }
    }

    /// What a command installs and compiles, with the files that it names.
    fn read(&mut self, command: &Command, run: &RunInstruction) -> Read {
        let knowledge = self.knowledge;
        for word in command.words.iter().filter_map(Word::known) {
            self.done.repositories.extend(knowledge.repositories_in(word));
        }
        let base = *self.done.python.get_or_init(|| pythons::of_base(&self.tree.evaluated.base.kind, knowledge));
        let lookup = |name: &str| self.done.lookup(run, name);
        let open = |folder: &str, path: &str| self.open(folder, path, run);
        let python = pythons::python(self, command, base, run, &lookup);
        let environment = Environment { machine: self.machine, python: python.as_deref() };
        let named = self.done.fetched.named(command, &self.folder);
        let around = Around { lookup: &lookup, open: &open, environment, knowledge };
        let mut found = install::installs_with(named.as_ref().unwrap_or(command), around);
        let listed = |folder: &str| open("/", &format!("{folder}/*")).or_else(|why| self.wheels_of(folder, why, run));
        self.done.wheels.installed(&mut found, command, &self.folder, (&listed, knowledge));
        found.packages.extend(self.done.cloned.built(command, &self.folder, knowledge));
        found.packages.extend(install::unpacked(command, knowledge).filter(|one| !self.has(one)));
        let tool = venv::has_its_own(command);
        let left_out = if tool { self.beside(&mut found) } else { Vec::new() };
        for package in found.packages.iter_mut().filter(|package| package.manager == install::Manager::Apt) {
            let brought = self.done.repositories.iter().find_map(|one| knowledge.instead_of(one, &package.name));
            package.name = brought.unwrap_or_else(|| std::mem::take(&mut package.name));
        }
        let environments = &self.done.environments;
        let apart = tool || environments.takes(command, &self.folder, run.path_head.as_deref(), &lookup);
        let home = self.home(command, run, &lookup);
        let of_pip = |package: &&mut Install| package.manager == install::Manager::Pip;
        if found.packages.iter().any(|package| package.manager == install::Manager::Pip)
            && let Told::Version(version) = pythons::chosen(self, command, run, &lookup)
        {
            for package in found.packages.iter_mut().filter(of_pip) {
                package.python.get_or_insert_with(|| version.clone());
            }
        }
        if apart {
            // What the base image brings does not count there.
            for package in found.packages.iter_mut().filter(of_pip) {
                package.upgrade |= self.seen.packages.iter().all(|seen| seen.name != package.name);
            }
        }
        let torch = || self.torch();
        let compiled = install::compiled(command, &self.folder, &around, &torch);
        let base = &self.tree.evaluated.base;
        let able = || listed::has_compiler(base, self.done.other_toolkit, self.seen, knowledge);
        let own = || install::of_project(command, &around, &torch).or_else(|| install::of_repository(command, &around));
        let compiled = compiled.or_else(|| (install::may_compile(command) && able()).then(own).flatten());
        Read { found, compiled, named, python, apart, home, left_out }
    }

    /// What a command sets, writes, fetches and probes beside what it installs.
    fn look(&mut self, command: &Command, run: &RunInstruction, depth: usize, read: &Read) {
        let environment = Environment { machine: self.machine, python: read.python.as_deref() };
        let open = |folder: &str, path: &str| self.open(folder, path, run);
        let lookup = |name: &str| self.done.lookup(run, name);
        let around = Around { lookup: &lookup, open: &open, environment, knowledge: self.knowledge };
        let says = linked::says(command, &self.folder, &around);
        linked::read(says, Origin::File { source: self.source, span: command.span }, self.seen);
        if depth == 0 {
            asked::read(command, run, (&lookup, self.knowledge), self.source, self.seen);
        }
        let at = listed::At {
            base: &self.tree.evaluated.base,
            folder: &self.folder,
            source: self.source,
            dockerfile: self.dockerfile,
            other_toolkit: self.done.other_toolkit,
            knowledge: self.knowledge,
        };
        listed::read(command, &at, &lookup, self.seen);
        self.done.other_toolkit |= listed::installs_toolkit(command);
        written(self, command, run, &environment);
        self.done.other_python =
            self.done.other_python || (pythons::brings_another(command) && !pythons::takes_own(self, command, run));
        self.done.fetched.note(command, &self.folder);
        self.done.cloned.note(command, &self.folder);
        self.done.programs.extend(programs::of_command(command, &self.folder, self.source));
    }

    /// Writes down what a command installs: what it takes away goes first.
    fn record(&mut self, command: &Command, run: &RunInstruction, read: Read) {
        let Read { mut found, compiled, named, apart, home, left_out, .. } = read;
        for note in left_out {
            self.note(note);
        }
        self.done.wheels.note(&mut found, &self.folder, self.source);
        let strange = compiled.is_some() || !closed::is_told(command, &found, self.knowledge);
        let beyond = if closed::is_linking(command) { Beyond::Links } else { Beyond::Files };
        self.done.beyond = self.done.beyond.max(if strange { beyond } else { Beyond::Nothing });
        if !install::is_of_system(command) && closed::may_bring_more(command, &found, self.knowledge) {
            self.seen.of_base.untold.push(self.seen.commands);
        }
        self.seen.of_base.keeping.extend(closed::keeps_named(command).then_some(self.seen.commands));
        self.seen.of_base.renewing.extend(closed::renews(command).then_some(self.seen.commands));
        let tag = command.words.iter().filter_map(Word::known).find_map(install::tag_of_url);
        self.cut(&mut found, tag.as_deref(), command.span);
        let (lists, sources) = (found.files.is_empty() && found.unresolved.is_empty(), found.sources.is_empty());
        let empty = found.packages.is_empty() && compiled.is_none() && lists && sources;
        let at =
            At { command: named.as_ref().unwrap_or(command), run, folder: &self.folder, knowledge: self.knowledge };
        let places = if empty { Vec::new() } else { self.done.lands.of_command(at) };
        if let Some(compiled) = compiled {
            let fact = self.code(compiled);
            self.done.lands.put(fact, places.clone());
        }
        found.removed.retain(|(manager, ..)| !command.conditional || *manager != install::Manager::Apt);
        take_away(self.seen, &found);
        let gone = |code: &CodeSeen| found.removed.iter().any(|(_, name, _)| code.component.as_ref() == Some(name));
        self.seen.code.retain(|code| !gone(code));
        // What a command names itself stands after what that brings along, and so wins.
        for install in along(&found, self.seen, self.knowledge) {
            let package = self.package(&install);
            self.done.lands.put(package.fact, places.clone());
            self.done.homes.extend(home.clone().map(|home| (package.fact, home)));
            let apart = apart && package.manager == Manager::Pip;
            self.seen.packages.push(PackageSeen { apart, ..package });
        }
        for install in &found.packages {
            let package = self.package(install);
            self.done.lands.put(package.fact, places.clone());
            self.done.homes.extend(home.clone().map(|home| (package.fact, home)));
            let apart = apart && package.manager == Manager::Pip;
            if apart && package.name == "pip" {
                self.done.environments.with_pip();
            }
            self.seen.packages.push(PackageSeen { apart, ..package });
        }
        for install in &found.constraints {
            let package = self.package(install);
            self.seen.bounds.push(package);
        }
        let before = self.seen.of_base.unknown_wheels.len();
        for (word, span) in &found.unresolved {
            if let Resolved::Unresolved { names, reason } = word {
                self.note(format!("a command installs unknown packages: {reason}"));
                if !install::is_of_system(command) {
                    self.untold(names, reason, tag.as_deref(), *span);
                }
            }
        }
        for file in &found.files {
            self.unread(file, tag.as_deref());
        }
        if install::is_of_system(command) {
            // A system package leaves a version alone that a Python installer pins.
            self.seen.of_base.scripts.extend(self.seen.of_base.unknown_wheels.iter().skip(before).map(|one| one.1));
        }
        for (address, span, source) in &found.sources {
            self.unknown_source(address, *span, source.unwrap_or(self.source));
        }
        for (_, fact) in self.seen.of_base.unknown_wheels.iter().skip(before) {
            self.done.lands.put(*fact, places.clone());
        }
    }

    /// Whether a package of a name and version was seen before, such as that of an archive that was fetched.
    fn has(&self, one: &Install) -> bool {
        self.seen.packages.iter().any(|package| {
            let same = match (&package.version, &one.version) {
                (PackageVersion::Exact(own), VersionSpec::Exact(version)) => own == version,
                (_, VersionSpec::Unresolved) => true,
                _ => false,
            };
            same && package.name == one.name
        })
    }

    /// What a tool brings into an environment of its own does not count beside a framework that the image has itself.
    fn beside(&self, found: &mut Installs) -> Vec<String> {
        let knowledge = self.knowledge;
        if self.seen.packages.iter().all(|package| knowledge.framework(&package.name).is_none()) {
            return Vec::new();
        }
        let left_out = std::mem::take(&mut found.packages);
        let names = left_out.into_iter().map(|package| package.name).filter(|name| knowledge.framework(name).is_some());
        names.map(|name| format!("{name} is installed in a separate environment and is not checked")).collect()
    }

    pub(super) fn open(&self, folder: &str, path: &str, run: &RunInstruction) -> Result<Opened, String> {
        let folder = if folder.is_empty() { &self.folder } else { folder };
        let path = absolute(folder, path);
        match self.done.made.get(&path) {
            Some(made) => made.clone(),
            None if is_pattern(&path) => self.names(&path, run),
            None => self.tree.open(run, &path),
        }
    }

    fn code(&mut self, compiled: Compiled) -> FactId {
        let inside = compiled.spans.iter().map(|span| Origin::File { source: self.source, span: *span });
        let outside = compiled.outside.iter().map(|span| Origin::File { source: self.dockerfile, span: *span });
        let origins = inside.chain(outside).collect();
        let sass = compiled.sass.iter().map(|target| format!("sm_{}", target.number()));
        let ptx = compiled.ptx.iter().map(|target| format!("compute_{}", target.number()));
        let state = match &compiled.untold {
            Some(reason) => FactState::Unknown(Why {
                reason: format!("its GPU targets are unknown: {reason}"),
                supply: format!("set the targets as numbers in {}", compiled.by),
            }),
            None => FactState::Known(Value::List(sass.chain(ptx).collect())),
        };
        let unsaid = compiled.untold.as_ref().map(|_| Unsaid::Unread);
        let name = compiled.component.clone().unwrap_or_else(|| format!("code that {} compiles", compiled.by));
        let fact = self.seen.facts.add(FactKey::Code, Some(&name), state, Evidence::Leaf(origins));
        let Compiled { component, sass, ptx, .. } = compiled;
        // What is compiled anew takes the place of what was.
        self.seen.code.retain(|one| component.is_none() || one.component != component || one.file != name);
        let (linkable, isa, runtime) = (Vec::new(), None, None);
        let file = name;
        self.seen.code.push(CodeSeen { file, component, sass, ptx, linkable, isa, count: 1, unsaid, runtime, fact });
        fact
    }

    fn package(&mut self, install: &Install) -> PackageSeen {
        let source = install.source.unwrap_or(self.source);
        let mut origins = vec![Origin::File { source, span: install.span }];
        if let Some(variant) = &install.variant {
            let origin = Origin::File { source: variant.source.unwrap_or(self.source), span: variant.span };
            if !origins.contains(&origin) {
                origins.push(origin);
            }
        }
        packaged(&mut self.seen.facts, install, origins, self.seen.commands, self.knowledge)
    }
}

//! Walking the stages that end in one target: which base, which environment, which commands.

use std::sync::Arc;

use crate::context::normal;
use crate::dockerfile::BaseEnv;
use crate::dockerfile::BaseKind;
use crate::dockerfile::CopyInstruction;
use crate::dockerfile::Dockerfile;
use crate::dockerfile::EnvSet;
use crate::dockerfile::EvaluateError;
use crate::dockerfile::EvaluateOptions;
use crate::dockerfile::Evaluated;
use crate::dockerfile::EvaluatedBase;
use crate::dockerfile::Instruction;
use crate::dockerfile::Kind;
use crate::dockerfile::KnownEnv;
use crate::dockerfile::Mapped;
use crate::dockerfile::Platform;
use crate::dockerfile::Resolved;
use crate::dockerfile::RunForm;
use crate::dockerfile::RunInstruction;
use crate::dockerfile::Scope;
use crate::dockerfile::evaluated::MOST_INSTRUCTIONS;
use crate::dockerfile::tabled;
use crate::dockerfile::words::pairs;
use crate::dockerfile::words::split_whitespace;
use crate::reference::ImageReference;
use crate::source::Span;

/// Why a variable is not known that a secret of the builder fills.
const OF_A_SECRET: &str = "its value comes from a build secret";

impl Dockerfile {
    /// Works out what a build of a target would see.
    pub fn evaluate(&self, options: &EvaluateOptions) -> Result<Evaluated, EvaluateError> {
        let target = match &options.target {
            _ if self.stages.is_empty() => return Err(EvaluateError::NoStage),
            _ if self.is_too_long() => return Err(EvaluateError::TooLong),
            Some(name) => self.stage(name).ok_or_else(|| EvaluateError::UnknownTarget(name.clone()))?,
            None => self.stages.len().checked_sub(1).ok_or(EvaluateError::NoStage)?,
        };
        let global = self.global_scope(options);
        let mut chain = vec![target];
        let mut root = target;
        let mut text = global.expand(&self.stages[root].base, self.escape, None);
        loop {
            if let Some(instead) = text.known().and_then(|name| options.instead_of(name)) {
                text = instead;
                break;
            }
            let Some(parent) = text.known().and_then(|name| self.earlier_stage(name, root)) else { break };
            chain.push(parent);
            root = parent;
            text = global.expand(&self.stages[root].base, self.escape, None);
        }
        chain.reverse();
        let flag = self.instructions[self.stages[root].from].flag("platform");
        let platform = flag.and_then(|flag| {
            let value = flag.value.as_ref()?;
            Some((platform(global.expand(value, self.escape, None))?, value.full_span()))
        });
        let base = base(text, self.stages[root].base_span);
        let open = base.kind != BaseKind::Scratch;
        let own = |known: &&Arc<KnownEnv>| matches!(&base.kind, BaseKind::Image(image) if *image == known.image);
        let known = options.known_env.as_ref().filter(own);
        let mut walk = Walk {
            file: self,
            options,
            global: &global,
            scope: Arc::new(Scope {
                base_env: (open && !known.is_some_and(|known| known.whole)).then_some(options.base_env),
                env: known.map_or_else(|| tabled::tabled(&base.kind, options.knowledge), |known| known.scope()),
                of_base: tabled::names(&base.kind, options.knowledge).filter(|_| options.base_env == BaseEnv::Unseen),
                hidden: Arc::new(global.args.keys().cloned().collect()),
                ..Scope::default()
            }),
            shell: None,
            path_head: None,
            workdir: (!open).then(|| "/".to_owned()),
            folder: Arc::from("/"),
            stage: root,
            env: Vec::new(),
            runs: Vec::new(),
            copies: Vec::new(),
        };
        let mut before: &[usize] = &[];
        for stage in &chain {
            walk.stage = *stage;
            walk.triggered(before, self.stages[*stage].from);
            before = &self.stages[*stage].instructions;
            for at in &self.stages[*stage].instructions {
                walk.step(*at, &self.instructions[*at]);
            }
        }
        let Walk { env, runs, copies, scope, folder, .. } = walk;
        Ok(Evaluated { chain, base, platform, env, runs, copies, scope, folder })
    }

    /// Whether it has more instructions than are followed.
    pub fn is_too_long(&self) -> bool {
        self.instructions.len() > MOST_INSTRUCTIONS
    }

    fn global_scope(&self, options: &EvaluateOptions) -> Scope {
        let mut scope = Scope { global: true, ..Scope::default() };
        for (name, value) in predefined(&options.platform) {
            scope.args.insert(name.to_owned(), Some(Resolved::literal(value)));
        }
        let before = self.stages.first().map_or(0, |stage| stage.from);
        for instruction in self.instructions.iter().take(before).filter(|one| one.kind == Kind::Arg) {
            for pair in pairs(&instruction.arguments, self.escape, false) {
                let value = match options.given(&pair.name) {
                    Some(given) => Some(given),
                    None => pair.value.map(|value| scope.expand(&value, self.escape, Some(value.full_span()))),
                };
                let predefined = value.is_none() && scope.args.contains_key(&pair.name);
                if !predefined {
                    scope.args.insert(pair.name, value);
                }
            }
        }
        scope
    }
}

fn base(text: Resolved, span: Span) -> EvaluatedBase {
    let placeholder = text.known().is_some_and(|name| name.contains(['<', '>']));
    let text = if placeholder {
        let reason = "it contains a placeholder; replace it with the name of the image".to_owned();
        Resolved::Unresolved { names: Vec::new(), reason }
    } else {
        text
    };
    let kind = match text.known() {
        None => BaseKind::Unresolved,
        Some("scratch") => BaseKind::Scratch,
        Some(name) => match ImageReference::parse(name) {
            Ok(image) => BaseKind::Image(image),
            Err(error) => BaseKind::Invalid(error.to_string()),
        },
    };
    EvaluatedBase { sources: text.origins().to_vec(), text, span, kind }
}

/// A path as seen from a working directory; `None` where that is not known.
fn below(workdir: Option<&str>, path: &str) -> Option<String> {
    if path.starts_with('/') {
        return Some(path.to_owned());
    }
    workdir.map(|workdir| format!("{}/{path}", workdir.trim_end_matches('/')))
}

/// A platform under its plain name; none where FROM leaves it to the build: an empty word, or a system alone. What is no
/// platform stays as it is.
fn platform(text: Resolved) -> Option<Resolved> {
    match text {
        Resolved::Known { value, .. } if value.is_empty() => None,
        Resolved::Known { value, origins } => match Platform::read(&value) {
            Some(Platform::Whole(value)) => Some(Resolved::Known { value, origins }),
            Some(Platform::System) => None,
            None => Some(Resolved::Known { value, origins }),
        },
        unresolved @ Resolved::Unresolved { .. } => Some(unresolved),
    }
}

fn predefined(platform: &str) -> Vec<(&'static str, String)> {
    let mut parts = platform.splitn(3, '/').map(str::to_owned);
    let (os, arch, variant) =
        (parts.next().unwrap_or_default(), parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    vec![
        ("BUILDPLATFORM", platform.to_owned()),
        ("BUILDOS", os.clone()),
        ("BUILDARCH", arch.clone()),
        ("BUILDVARIANT", variant.clone()),
        ("TARGETPLATFORM", platform.to_owned()),
        ("TARGETOS", os),
        ("TARGETARCH", arch),
        ("TARGETVARIANT", variant),
    ]
}

struct Walk<'a> {
    file: &'a Dockerfile,
    options: &'a EvaluateOptions,
    global: &'a Scope,
    scope: Arc<Scope>,
    shell: Option<Vec<String>>,
    workdir: Option<String>,
    folder: Arc<str>,
    path_head: Option<String>,
    stage: usize,
    env: Vec<EnvSet>,
    runs: Vec<RunInstruction>,
    copies: Vec<CopyInstruction>,
}

impl Walk<'_> {
    /// Goes through what the stage that a FROM builds on has left behind ONBUILD: it runs in front of all else.
    fn triggered(&mut self, before: &[usize], from: usize) {
        let file = self.file;
        let children = before.iter().filter_map(|at| file.instructions.get(*at)?.child.as_deref());
        for child in children {
            // Commands see what is copied in front of them.
            let at = if matches!(child.kind, Kind::Copy | Kind::Add) { from.saturating_sub(1) } else { from };
            self.step(at, child);
        }
    }

    fn step(&mut self, at: usize, instruction: &Instruction) {
        match &instruction.kind {
            Kind::Arg => self.arg(instruction),
            Kind::Env => self.set_env(at, instruction),
            Kind::Shell => {
                let words = instruction.json.as_ref();
                self.shell = words.map(|words| words.iter().map(|word| word.text().to_owned()).collect());
            }
            Kind::Run => self.runs.push(RunInstruction {
                stage: self.stage,
                instruction: at,
                span: instruction.span,
                form: match &instruction.json {
                    Some(words) => RunForm::Exec(words.clone()),
                    None => RunForm::Shell(instruction.arguments.clone()),
                },
                heredocs: instruction.heredocs.clone(),
                scope: self.with_secrets(instruction),
                shell: self.shell.clone(),
                workdir: self.workdir.clone(),
                folder: Arc::clone(&self.folder),
                path_head: self.path_head.clone(),
                device: instruction.flags.iter().any(|flag| flag.name == "device"),
            }),
            Kind::Workdir => {
                let said = self.scope.expand(&instruction.arguments, self.file.escape, None);
                self.workdir = said.known().and_then(|said| below(self.workdir.as_deref(), said));
                let seen = below(Some(&self.folder), said.known().unwrap_or("?")).unwrap_or_default();
                self.folder = Arc::from(format!("/{}", normal(&seen)));
            }
            Kind::Copy | Kind::Add => self.copy(at, instruction),
            _ => {}
        }
    }

    /// The variables of a RUN: what a secret gives it stands above all others, and is known to nobody.
    fn with_secrets(&self, instruction: &Instruction) -> Arc<Scope> {
        let mut scope = Arc::clone(&self.scope);
        let mounts = instruction.flags.iter().filter(|flag| flag.name == "mount");
        for mount in mounts.filter_map(|flag| flag.value.as_ref()) {
            let parts = || mount.text().split(',').filter_map(|part| part.split_once('='));
            let is_secret = parts().any(|(name, value)| name.trim() == "type" && value.trim() == "secret");
            for (_, name) in parts().filter(|(name, _)| is_secret && name.trim() == "env") {
                let name = name.trim().trim_matches('"').to_owned();
                let value = Resolved::Unresolved { names: vec![name.clone()], reason: OF_A_SECRET.to_owned() };
                Arc::make_mut(&mut scope).env.insert(name, value);
            }
        }
        scope
    }

    fn arg(&mut self, instruction: &Instruction) {
        for pair in pairs(&instruction.arguments, self.file.escape, false) {
            let value = match (self.options.given(&pair.name), pair.value) {
                (Some(given), _) => Some(given),
                (None, Some(value)) => Some(self.scope.expand(&value, self.file.escape, Some(value.full_span()))),
                (None, None) => self.global.args.get(&pair.name).cloned().flatten(),
            };
            Arc::make_mut(&mut self.scope).args.insert(pair.name, value);
        }
    }

    fn set_env(&mut self, at: usize, instruction: &Instruction) {
        // All see what stood in front of the instruction; nobody else holds the variables where they are set.
        let before = Arc::clone(&self.scope);
        let mut set: Vec<EnvSet> = Vec::new();
        for pair in pairs(&instruction.arguments, self.file.escape, true) {
            let Some(written) = pair.value else { continue };
            let value_span = written.full_span();
            let origins = before.expand(&written, self.file.escape, None).origins().to_vec();
            let value = before.expand(&written, self.file.escape, Some(value_span));
            if pair.name == "PATH" {
                self.path_head = self.first_of(&before, &written);
            }
            let (stage, span) = (self.stage, pair.span);
            set.push(EnvSet { name: pair.name, value, span, value_span, origins, stage, instruction: at });
        }
        drop(before);
        let env = &mut Arc::make_mut(&mut self.scope).env;
        env.extend(set.iter().map(|set| (set.name.clone(), set.value.clone())));
        self.env.extend(set);
    }

    /// The part of a value in front of its first `:`, which may be known where the rest is not.
    fn first_of(&self, scope: &Scope, written: &Mapped) -> Option<String> {
        let end = written.text().find(':').unwrap_or(written.text().len());
        let first = written.slice(0..end);
        let quote = first.text().len() - first.text().trim_start_matches(['"', '\'']).len();
        let first = scope.expand(&first.slice(quote..end), self.file.escape, None);
        match first.known() {
            Some(first) => Some(first.to_owned()),
            // `$PATH:more` leaves the head as it was.
            None => self.path_head.clone(),
        }
    }

    fn copy(&mut self, at: usize, instruction: &Instruction) {
        let escape = self.file.escape;
        let arguments = &instruction.arguments;
        let words: Vec<Mapped> = match &instruction.json {
            Some(words) => words.clone(),
            None => split_whitespace(arguments.text()).into_iter().map(|word| arguments.slice(word)).collect(),
        };
        let mut sources: Vec<_> =
            words.iter().map(|word| (self.scope.expand(word, escape, None), word.full_span())).collect();
        let destination = sources.pop();
        let from = instruction.flag("from").and_then(|flag| flag.value.as_ref());
        let from = from.map(|value| (self.scope.expand(value, escape, None), value.full_span()));
        let from_stage = from.as_ref().and_then(|(name, _)| self.file.stage_before(name.known()?, self.stage));
        let (stage, span) = (self.stage, instruction.span);
        let (workdir, folder) = (self.workdir.clone(), Arc::clone(&self.folder));
        self.copies.push(CopyInstruction {
            stage,
            instruction: at,
            span,
            from,
            from_stage,
            sources,
            parents: instruction.flag("parents").is_some(),
            destination,
            workdir,
            folder,
        });
    }
}

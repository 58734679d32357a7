//! Walking the stages that end in one target: which base, which environment, which commands.

use std::collections::BTreeMap;
use std::sync::Arc;

use thiserror::Error;

use crate::dockerfile::Dockerfile;
use crate::dockerfile::Heredoc;
use crate::dockerfile::Instruction;
use crate::dockerfile::Kind;
use crate::dockerfile::Mapped;
use crate::dockerfile::Resolved;
use crate::dockerfile::Scope;
use crate::dockerfile::words::pairs;
use crate::dockerfile::words::split_whitespace;
use crate::reference::ImageReference;
use crate::source::Span;

/// What a build would be told on the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EvaluateOptions {
    /// `os/architecture` or `os/architecture/variant`.
    pub platform: String,
    /// Build arguments.
    pub build_args: BTreeMap<String, String>,
    /// The stage to build: its name or number; the last one where `None`.
    pub target: Option<String>,
}

impl Default for EvaluateOptions {
    fn default() -> Self {
        Self { platform: "linux/amd64".to_owned(), build_args: BTreeMap::new(), target: None }
    }
}

/// Why nothing can be evaluated.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum EvaluateError {
    /// There is no FROM.
    #[error("the Dockerfile has no FROM")]
    NoStage,
    /// The target is not there.
    #[error("the Dockerfile has no stage `{0}`")]
    UnknownTarget(String),
}

/// What the first stage of a chain builds on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BaseKind {
    /// Nothing at all.
    Scratch,
    /// An image from outside of the file.
    Image(ImageReference),
    /// A name that is no image name, and why.
    Invalid(String),
    /// A name that the file alone does not give.
    Unresolved,
}

/// The base image of a chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EvaluatedBase {
    /// The name after expansion.
    pub text: Resolved,
    /// Where the name is written.
    pub span: Span,
    /// The ARG defaults that went into it.
    pub sources: Vec<Span>,
    /// What it is.
    pub kind: BaseKind,
}

/// One setting of an environment variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnvSet {
    /// The variable.
    pub name: String,
    /// Its value.
    pub value: Resolved,
    /// `name=value`.
    pub span: Span,
    /// The value alone.
    pub value_span: Span,
    /// Where the values of the variables in it are written, without its own place.
    pub origins: Vec<Span>,
    /// The stage that sets it.
    pub stage: usize,
    /// The instruction that sets it.
    pub instruction: usize,
}

/// How a RUN says what to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunForm {
    /// A text for the shell.
    Shell(Mapped),
    /// A JSON array: a program and its arguments.
    Exec(Vec<Mapped>),
}

/// A RUN of the chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunInstruction {
    /// The stage it stands in.
    pub stage: usize,
    /// Its number among the instructions.
    pub instruction: usize,
    /// The whole instruction.
    pub span: Span,
    /// What it runs.
    pub form: RunForm,
    /// Its here-documents.
    pub heredocs: Vec<Heredoc>,
    /// The variables that hold for it.
    pub scope: Arc<Scope>,
    /// The words of the SHELL that holds for it.
    pub shell: Option<Vec<String>>,
}

/// A COPY or ADD of the chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CopyInstruction {
    /// The stage it stands in.
    pub stage: usize,
    /// Its number among the instructions.
    pub instruction: usize,
    /// The whole instruction.
    pub span: Span,
    /// What `--from` says and where.
    pub from: Option<(Resolved, Span)>,
    /// The stage that `--from` means.
    pub from_stage: Option<usize>,
    /// What is copied.
    pub sources: Vec<(Resolved, Span)>,
    /// Where it goes.
    pub destination: Option<(Resolved, Span)>,
}

/// What a Dockerfile says about one target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evaluated {
    /// The stages from the root to the target.
    pub chain: Vec<usize>,
    /// What the root builds on.
    pub base: EvaluatedBase,
    /// What `--platform` at the root's FROM says and where.
    pub platform: Option<(Resolved, Span)>,
    /// Every setting of a variable, in order.
    pub env: Vec<EnvSet>,
    /// The RUN instructions, in order.
    pub runs: Vec<RunInstruction>,
    /// The COPY and ADD instructions, in order.
    pub copies: Vec<CopyInstruction>,
    /// The variables that hold at the end.
    pub scope: Arc<Scope>,
}

impl Evaluated {
    /// The setting of a variable that holds at the end.
    pub fn env(&self, name: &str) -> Option<&EnvSet> {
        self.env.iter().rfind(|set| set.name == name)
    }
}

impl Dockerfile {
    /// Works out what a build of a target would see.
    pub fn evaluate(&self, options: &EvaluateOptions) -> Result<Evaluated, EvaluateError> {
        let target = match &options.target {
            _ if self.stages.is_empty() => return Err(EvaluateError::NoStage),
            Some(name) => self.stage(name).ok_or_else(|| EvaluateError::UnknownTarget(name.clone()))?,
            None => self.stages.len().checked_sub(1).ok_or(EvaluateError::NoStage)?,
        };
        let global = self.global_scope(options);
        let mut chain = vec![target];
        let mut root = target;
        let mut text = global.expand(&self.stages[root].base, self.escape, None);
        while let Some(parent) = text.known().and_then(|name| self.earlier_stage(name, root)) {
            chain.push(parent);
            root = parent;
            text = global.expand(&self.stages[root].base, self.escape, None);
        }
        chain.reverse();
        let flag = self.instructions[self.stages[root].from].flag("platform");
        let platform = flag.and_then(|flag| {
            flag.value.as_ref().map(|value| (global.expand(value, self.escape, None), value.full_span()))
        });
        let base = base(text, self.stages[root].base_span);
        let open = base.kind != BaseKind::Scratch;
        let mut walk = Walk {
            file: self,
            options,
            global: &global,
            scope: Arc::new(Scope { open, ..Scope::default() }),
            shell: None,
            stage: root,
            env: Vec::new(),
            runs: Vec::new(),
            copies: Vec::new(),
        };
        for stage in &chain {
            walk.stage = *stage;
            for at in &self.stages[*stage].instructions {
                walk.step(*at, &self.instructions[*at]);
            }
        }
        let Walk { env, runs, copies, scope, .. } = walk;
        Ok(Evaluated { chain, base, platform, env, runs, copies, scope })
    }

    fn earlier_stage(&self, name: &str, before: usize) -> Option<usize> {
        let named =
            |stage: &&crate::dockerfile::Stage| stage.name.as_deref().is_some_and(|own| own.eq_ignore_ascii_case(name));
        self.stages.get(..before)?.iter().rfind(named).map(|stage| stage.index)
    }

    fn global_scope(&self, options: &EvaluateOptions) -> Scope {
        let mut scope = Scope { global: true, ..Scope::default() };
        for (name, value) in predefined(&options.platform) {
            scope.args.insert(name.to_owned(), Some(Resolved::literal(value)));
        }
        let before = self.stages.first().map_or(0, |stage| stage.from);
        for instruction in self.instructions.iter().take(before).filter(|one| one.kind == Kind::Arg) {
            for pair in pairs(&instruction.arguments, self.escape, false) {
                let value = match options.build_args.get(&pair.name) {
                    Some(value) => Some(Resolved::literal(value.clone())),
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
        let reason = "a placeholder stands here; the file is not what gets built".to_owned();
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
    stage: usize,
    env: Vec<EnvSet>,
    runs: Vec<RunInstruction>,
    copies: Vec<CopyInstruction>,
}

impl Walk<'_> {
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
                scope: Arc::clone(&self.scope),
                shell: self.shell.clone(),
            }),
            Kind::Copy | Kind::Add => self.copy(at, instruction),
            _ => {}
        }
    }

    fn arg(&mut self, instruction: &Instruction) {
        for pair in pairs(&instruction.arguments, self.file.escape, false) {
            let value = match (self.options.build_args.get(&pair.name), pair.value) {
                (Some(value), _) => Some(Resolved::literal(value.clone())),
                (None, Some(value)) => Some(self.scope.expand(&value, self.file.escape, Some(value.full_span()))),
                (None, None) => self.global.args.get(&pair.name).cloned().flatten(),
            };
            Arc::make_mut(&mut self.scope).args.insert(pair.name, value);
        }
    }

    fn set_env(&mut self, at: usize, instruction: &Instruction) {
        let before = Arc::clone(&self.scope);
        for pair in pairs(&instruction.arguments, self.file.escape, true) {
            let Some(written) = pair.value else { continue };
            let value_span = written.full_span();
            let origins = before.expand(&written, self.file.escape, None).origins().to_vec();
            let value = before.expand(&written, self.file.escape, Some(value_span));
            Arc::make_mut(&mut self.scope).env.insert(pair.name.clone(), value.clone());
            let (stage, span) = (self.stage, pair.span);
            self.env.push(EnvSet { name: pair.name, value, span, value_span, origins, stage, instruction: at });
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
        let from_stage = from.as_ref().and_then(|(name, _)| self.file.stage(name.known()?));
        let from_stage = from_stage.filter(|stage| *stage < self.stage);
        let (stage, span) = (self.stage, instruction.span);
        self.copies.push(CopyInstruction { stage, instruction: at, span, from, from_stage, sources, destination });
    }
}

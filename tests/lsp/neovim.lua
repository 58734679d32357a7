-- Lets Neovim speak to the program in $IMAGELINT about the file that is open, and prints a line of JSON for each step:
-- what it shows at first, a hover, what it shows with a cure applied, and with an ignore instead of it.

local function fail(message)
  io.stdout:write("failed: " .. message .. "\n")
  vim.cmd("cquit 1")
end

local function run()
  local config = { name = "imagelint", cmd = { os.getenv("IMAGELINT"), "lsp" }, root_dir = vim.fn.getcwd() }
  local client
  if vim.lsp.start then
    client = vim.lsp.start(config)
  else
    client = vim.lsp.start_client(config)
    vim.lsp.buf_attach_client(0, client)
  end

  -- Diagnostics come by themselves; each set of them counts.
  local sets = 0
  local usual = vim.lsp.handlers["textDocument/publishDiagnostics"]
  vim.lsp.handlers["textDocument/publishDiagnostics"] = function(...)
    local done = usual(...)
    sets = sets + 1
    return done
  end
  local function settled(before, wanted)
    local done = vim.wait(60000, function()
      return sets > before and #vim.diagnostic.get(0) == wanted
    end, 20)
    if not done then
      fail("waited for " .. wanted .. " diagnostics, got " .. vim.inspect(vim.diagnostic.get(0)))
    end
  end
  local function show(extra)
    local list = {}
    for _, one in ipairs(vim.diagnostic.get(0)) do
      table.insert(list, {
        lnum = one.lnum,
        col = one.col,
        end_col = one.end_col,
        severity = one.severity,
        source = one.source,
        message = one.message,
      })
    end
    local diagnostics = #list > 0 and list or vim.empty_dict()
    local out = vim.tbl_extend("force", { diagnostics = diagnostics, lines = vim.api.nvim_buf_get_lines(0, 0, -1, true) }, extra or {})
    local text = vim.json.encode(out):gsub('"diagnostics":{}', '"diagnostics":[]')
    io.stdout:write(text .. "\n")
  end
  local function ask(method, params)
    local answers = vim.lsp.buf_request_sync(0, method, params, 60000)
    for _, answer in pairs(answers or {}) do
      if answer.result then
        return answer.result
      end
    end
    fail("no answer to " .. method)
  end
  local function apply(beginning)
    local params = vim.lsp.util.make_range_params()
    params.context = { diagnostics = {} }
    for _, action in ipairs(ask("textDocument/codeAction", params)) do
      if action.title:sub(1, #beginning) == beginning then
        vim.lsp.util.apply_workspace_edit(action.edit, "utf-16")
        return
      end
    end
    fail("no action " .. beginning)
  end

  settled(0, 1)
  show()
  vim.api.nvim_win_set_cursor(0, { 2, 8 })
  local hover = ask("textDocument/hover", vim.lsp.util.make_position_params())
  io.stdout:write(vim.json.encode(hover.contents) .. "\n")
  local before = sets
  apply("use the tag ")
  settled(before, 0)
  show()
  before = sets
  vim.cmd("silent undo")
  settled(before, 1)
  before = sets
  apply("Ignore container-refused here")
  settled(before, 0)
  show()
  vim.lsp.stop_client(vim.lsp.get_active_clients and vim.lsp.get_active_clients() or client)
  vim.cmd("qall!")
end

local fine, problem = pcall(run)
if not fine then
  fail(tostring(problem))
end

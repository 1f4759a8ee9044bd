defmodule Selvedge.Formatter do
  # Part of Selvedge: writes the outcome of each test as JUnit XML next to this file. The projects of an umbrella are
  # run one after the other, and each adds a document.
  use GenServer

  @report Path.join(Path.dirname(__ENV__.file), "report")

  def init(_options), do: {:ok, []}

  def handle_cast({:test_finished, %{state: {:excluded, _}}}, cases), do: {:noreply, cases}

  def handle_cast({:test_finished, test}, cases) do
    {:noreply, [{inspect(test.module), to_string(test.name), outcome(test.state)} | cases]}
  end

  def handle_cast({:suite_finished, _}, cases), do: {:noreply, close(cases)}
  def handle_cast({:suite_finished, _, _}, cases), do: {:noreply, close(cases)}
  def handle_cast(_, cases), do: {:noreply, cases}

  defp outcome(nil), do: ""
  defp outcome({:skipped, _}), do: "<skipped/>"
  defp outcome(_), do: "<failure/>"

  defp close(cases) do
    told =
      for {module, name, outcome} <- Enum.reverse(cases) do
        ~s(<testcase classname="#{text(module)}" name="#{text(name)}">#{outcome}</testcase>\n)
      end

    failed = Enum.count(cases, fn {_, _, outcome} -> outcome == "<failure/>" end)
    head = ~s(<testsuite name="mix test" tests="#{length(cases)}" failures="#{failed}">\n)
    File.write!(@report, [head, told, "</testsuite>\n"], [:append])
    []
  end

  defp text(text) do
    text
    |> String.replace(~r/[[:cntrl:]]/u, " ")
    |> String.replace("&", "&amp;")
    |> String.replace("<", "&lt;")
    |> String.replace("\"", "&quot;")
  end
end

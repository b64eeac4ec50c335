PREFIX ex: <http://example.org/>
SELECT ?x WHERE { ?x ex:near ?y }
